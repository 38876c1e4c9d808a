// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

struct ReachabilityTargetTests {
    @Test(arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"]) func `zero addresses are the default path`(
        text: String
    ) throws {
        #expect(ReachabilityTarget.address(address(text)) == .defaultPath)
        #expect(try ReachabilityTarget.host(text) == .defaultPath)
        #expect(ReachabilityTarget.defaultPath.description == "default")
    }

    @Test func `an address is its own target`() {
        #expect(ReachabilityTarget.address(remote).kind == .address(remote))
        #expect(ReachabilityTarget.address(remote).description == "198.51.100.7")
        #expect(ReachabilityTarget.address(remote) != .address(gateway))
    }

    // MARK: Pairs

    @Test func `a pair keeps both addresses`() throws {
        let pair = try ReachabilityTarget.pair(local: gateway, remote: remote)
        #expect(pair.kind == .pair(local: gateway, remote: remote))
        #expect(pair.description == "192.0.2.1 -> 198.51.100.7")
    }

    @Test func `a pair takes mapped addresses as IPv4`() throws {
        let pair = try ReachabilityTarget.pair(local: address("::ffff:192.0.2.1"), remote: remote)
        #expect(pair.kind == .pair(local: gateway, remote: remote))
    }

    @Test(
        arguments: [
            ("0.0.0.0", "198.51.100.7"), ("::", "198.51.100.7"), ("127.0.0.1", "198.51.100.7"),
            ("::1", "2001:db8::1"), ("127.0.0.1", "2001:db8::1"), ("::1", "198.51.100.7"),
        ]
    )
    func `a local address that cannot be a source is taken for none`(local: String, remote: String) throws {
        let pair = try ReachabilityTarget.pair(local: address(local), remote: address(remote))
        #expect(pair == .address(address(remote)))
    }

    @Test func `loopback to loopback keeps its source`() throws {
        let pair = try ReachabilityTarget.pair(local: address("127.0.0.2"), remote: address("127.0.0.1"))
        #expect(pair.kind == .pair(local: address("127.0.0.2"), remote: address("127.0.0.1")))
    }

    @Test func `loopback to the zero address is the default path`() throws {
        #expect(try ReachabilityTarget.pair(local: address("127.0.0.1"), remote: .anyV4) == .defaultPath)
    }

    @Test(
        arguments: [
            ("192.0.2.1", "2001:db8::1"), ("2001:db8::1", "192.0.2.1"), ("127.0.0.1", "::1"),
            ("192.0.2.1", "::"),
        ]
    )
    func `a pair of two families is refused and says what to give`(local: String, remote: String) {
        let error = #expect(throws: ReachabilityError.self) {
            try ReachabilityTarget.pair(local: address(local), remote: address(remote))
        }
        #expect(error?.code == .invalidAddress)
        #expect(error?.description.contains(local) == true)
        #expect(error?.description.contains("give two IPv4 or two IPv6 addresses") == true)
    }
}
