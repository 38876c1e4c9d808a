// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

struct ReachabilityTargetTests {
    @Test("zero addresses are the default path", arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"])
    func zeroAddressesAreTheDefaultPath(text: String) throws {
        #expect(ReachabilityTarget.address(address(text)) == .defaultPath)
        #expect(try ReachabilityTarget.host(text) == .defaultPath)
        #expect(ReachabilityTarget.defaultPath.description == "default")
    }

    @Test func anAddressIsItself() {
        #expect(ReachabilityTarget.address(remote).kind == .address(remote))
        #expect(ReachabilityTarget.address(remote).description == "198.51.100.7")
        #expect(ReachabilityTarget.address(remote) != .address(gateway))
    }

    // MARK: Pairs

    @Test func pairKeepsBothAddresses() throws {
        let pair = try ReachabilityTarget.pair(local: gateway, remote: remote)
        #expect(pair.kind == .pair(local: gateway, remote: remote))
        #expect(pair.description == "192.0.2.1 -> 198.51.100.7")
    }

    @Test func pairTakesMappedAddressesForIPv4() throws {
        let pair = try ReachabilityTarget.pair(local: address("::ffff:192.0.2.1"), remote: remote)
        #expect(pair.kind == .pair(local: gateway, remote: remote))
    }

    @Test(
        "a local address that cannot be a source is taken for none",
        arguments: [
            ("0.0.0.0", "198.51.100.7"), ("::", "198.51.100.7"), ("127.0.0.1", "198.51.100.7"),
            ("::1", "2001:db8::1"), ("127.0.0.1", "2001:db8::1"), ("::1", "198.51.100.7"),
        ]
    )
    func uselessLocalAddressIsTakenForNone(local: String, remote: String) throws {
        let pair = try ReachabilityTarget.pair(local: address(local), remote: address(remote))
        #expect(pair == .address(address(remote)))
    }

    @Test func loopbackToLoopbackKeepsItsSource() throws {
        let pair = try ReachabilityTarget.pair(local: address("127.0.0.2"), remote: address("127.0.0.1"))
        #expect(pair.kind == .pair(local: address("127.0.0.2"), remote: address("127.0.0.1")))
    }

    @Test func loopbackToTheZeroAddressIsTheDefaultPath() throws {
        #expect(try ReachabilityTarget.pair(local: address("127.0.0.1"), remote: .anyV4) == .defaultPath)
    }

    @Test(
        "a pair of two families is refused and says what to give",
        arguments: [
            ("192.0.2.1", "2001:db8::1"), ("2001:db8::1", "192.0.2.1"), ("127.0.0.1", "::1"),
            ("192.0.2.1", "::"),
        ]
    )
    func pairOfTwoFamiliesIsRefused(local: String, remote: String) {
        let error = #expect(throws: ReachabilityError.self) {
            try ReachabilityTarget.pair(local: address(local), remote: address(remote))
        }
        #expect(error?.code == .invalidAddress)
        #expect(error?.description.contains(local) == true)
        #expect(error?.description.contains("give two IPv4 or two IPv6 addresses") == true)
    }
}
