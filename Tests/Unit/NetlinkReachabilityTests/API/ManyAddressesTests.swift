// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import RoutingModel
import Testing

/// `flags(of:)`: many addresses at once.
struct ManyAddressesTests {
    private static let near = IPAddress(192, 0, 2, 9)
    private static let far = IPAddress(198, 51, 100, 1)
    private static let blocked = IPAddress(198, 51, 100, 2)

    private let network = ScriptedRouting(
        .init(
            answers: [
                near: [.route(.via(2))], far: [.route(.via(2, gateway: gateway))],
                blocked: [.rejected(.prohibited)],
            ],
            interfaces: [.loopback, .eth0]
        )
    )

    private var source: NetworkSource {
        NetworkSource(routing: network, resolver: ScriptedResolver())
    }

    @Test func `the flags come in the order of the addresses`() throws {
        let addresses = (0..<100).flatMap { _ in [Self.near, Self.blocked, Self.far] }
        let flags = try source.flags(of: addresses)
        #expect(flags == (0..<100).flatMap { _ -> [ReachabilityFlags] in [direct, [], .reachable] })
    }

    @Test func `no addresses take no question`() throws {
        #expect(try source.flags(of: []) == [])
        #expect(network.takeCount() == 0)
    }

    @Test func `a mapped address is an IPv4 address, and one without its zone has none`() throws {
        let mapped = try #require(IPAddress("::ffff:192.0.2.9"))
        let linkLocal = try #require(IPAddress("fe80::1"))
        #expect(try source.flags(of: [mapped, linkLocal]) == [direct, []])
    }

    @Test func `the options are those of the socket`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        #expect(try source.flags(of: [Self.near, Self.far], options: options) == [[], []])
    }

    @Test func `a question that cannot be answered is an error`() throws {
        network.fail(RoutingFault(operation: "ask for a route", number: 5))
        let error = #expect(throws: ReachabilityError.self) { try source.flags(of: [Self.near]) }
        #expect(error?.code == .systemFailure)
    }
}
