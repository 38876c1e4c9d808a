// SPDX-License-Identifier: Apache-2.0

import Fakes
import LinuxSystemConfiguration
import RoutingModel
import Testing

private let own: SCNetworkReachabilityFlags = [.reachable, .isLocalAddress, .isDirect]
private let onLink: SCNetworkReachabilityFlags = [.reachable, .isDirect]

struct FlagsTests {
    let network = ScriptedNetwork.wired(hasDefault: true)
    let offline = ScriptedNetwork.wired()

    private func pair(_ local: String?, _ remote: String?) -> SCNetworkReachability? {
        withPointer(local) { local in
            withPointer(remote) { SCNetworkReachabilityCreateWithAddressPair(nil, local, $0) }
        }
    }

    private func withPointer<Result>(_ text: String?, _ body: (UnsafePointer<sockaddr>?) -> Result) -> Result
    {
        guard let text else { return body(nil) }
        return withUnsafePointer(to: socketAddress(text)) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }

    private func far() throws -> SCNetworkReachability {
        try network.use { try target("198.51.100.1") }
    }

    // MARK: Addresses

    @Test func `an address is judged by the route that it has now`() throws {
        let (near, far) = try network.use { (try target("192.0.2.9"), try target("198.51.100.1")) }
        #expect(try flags(of: near) == onLink)
        #expect(try flags(of: far) == .reachable)
        network.setDefault(false)
        #expect(try flags(of: far) == [])
    }

    @Test func `the zero address is the default path`() throws {
        #expect(try flags(of: network.use { try target("0.0.0.0") }) == .reachable)
        #expect(try flags(of: offline.use { try target("0.0.0.0") }) == [])
    }

    @Test func `a zeroed sockaddr of 16 bytes with a length and a family is the zero address`() throws {
        var zero = sockaddr()
        zero.sa_len = UInt8(MemoryLayout<sockaddr>.size)
        zero.sa_family = sa_family_t(AF_INET)
        let target = try #require(
            network.use { SCNetworkReachabilityCreateWithAddress(kCFAllocatorDefault, &zero) })
        #expect(try flags(of: target) == .reachable)
    }

    @Test func `the IPv6 zero address is the default path over either family`() throws {
        var zero = sockaddr_in6()
        zero.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
        zero.sin6_family = sa_family_t(AF_INET6)
        let target = try #require(
            network.use {
                withUnsafePointer(to: &zero) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        SCNetworkReachabilityCreateWithAddress(nil, $0)
                    }
                }
            }
        )
        #expect(try flags(of: target) == .reachable)
    }

    @Test func `the link-local network is direct over a wired interface: Apple's idiom for local Wi-Fi`()
        throws
    {
        #expect(try flags(of: network.use { try target("169.254.0.0") }) == onLink)
        #expect(try flags(of: offline.use { try target("169.254.0.0") }) == [])
        #expect(IN_LINKLOCALNETNUM == 0xa9fe_0000)
    }

    // MARK: Pairs

    @Test func `a pair from an address of this host is judged by the remote address`() throws {
        let target = try #require(network.use { pair("192.0.2.2", "198.51.100.1") })
        #expect(try flags(of: target) == .reachable)
    }

    @Test func `a pair from an address that is not this host's is not reachable`() throws {
        let target = try #require(network.use { pair("192.0.2.77", "198.51.100.1") })
        #expect(try flags(of: target) == [])
    }

    @Test func `a local address alone is the default path from there`() throws {
        #expect(try flags(of: #require(network.use { pair("192.0.2.2", nil) })) == .reachable)
        #expect(try flags(of: #require(network.use { pair("192.0.2.77", nil) })) == [])
        #expect(try flags(of: #require(offline.use { pair("192.0.2.2", nil) })) == [])
    }

    @Test func `a remote address alone is that address`() throws {
        #expect(try flags(of: #require(network.use { pair(nil, "192.0.2.9") })) == onLink)
    }

    @Test func `a pair from a loopback address to elsewhere is judged without it`() throws {
        #expect(try flags(of: #require(network.use { pair("127.0.0.1", "198.51.100.1") })) == .reachable)
    }

    @Test func `a pair of nothing is an invalid argument`() {
        #expect(network.use { pair(nil, nil) } == nil)
        #expect(SCError() == kSCStatusInvalidArgument)
    }

    // MARK: Names

    @Test func `a name is judged by the default path, and never resolved for it`() throws {
        let online = try #require(network.use { SCNetworkReachabilityCreateWithName(nil, "no-such-name") })
        let out = try #require(offline.use { SCNetworkReachabilityCreateWithName(nil, "no-such-name") })
        #expect(try flags(of: online) == .reachable)
        #expect(try flags(of: out) == [])
        #expect(network.resolver.count + offline.resolver.count == 0)
    }

    @Test(arguments: ["localhost", "LocalHost", "localhost.", "app.localhost"])
    func `localhost is this host, with no network and no query at all`(name: String) throws {
        let target = try #require(offline.use { SCNetworkReachabilityCreateWithName(nil, name) })
        #expect(try flags(of: target) == own)
        #expect(offline.routing.queries.count + offline.resolver.count == 0)
    }

    @Test(arguments: ["192.0.2.9", "192.0.521", "::ffff:192.0.2.9"])
    func `a numeric name is that address`(name: String) throws {
        let target = try #require(network.use { SCNetworkReachabilityCreateWithName(nil, name) })
        #expect(try flags(of: target) == onLink)
    }

    @Test(arguments: ["", "http://example.com", "example.com:80", "a b"])
    func `text that is not a host is an invalid argument`(text: String) {
        #expect(network.use { SCNetworkReachabilityCreateWithName(nil, text) } == nil)
        #expect(SCError() == kSCStatusInvalidArgument)
    }

    // MARK: Failures

    @Test func `a query that cannot be asked is not an answer`() throws {
        let target = try far()
        network.routing.fail(ReachabilityError(operation: "ask", number: 105))
        var flags = SCNetworkReachabilityFlags.isWWAN
        #expect(!SCNetworkReachabilityGetFlags(target, &flags))
        #expect(SCError() == kSCStatusReachabilityUnknown)
        #expect(flags == .isWWAN)
    }

    @Test func `an interface that does not exist is no way`() throws {
        let target = try #require(network.use { SCNetworkReachabilityCreateWithName(nil, "fe80::1%none0") })
        #expect(try flags(of: target) == [])
    }

    @Test func `another family than IPv4 and IPv6 is an invalid argument`() {
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNIX)
        #expect(network.use { SCNetworkReachabilityCreateWithAddress(nil, &address) } == nil)
        #expect(SCError() == kSCStatusInvalidArgument)
    }
}
