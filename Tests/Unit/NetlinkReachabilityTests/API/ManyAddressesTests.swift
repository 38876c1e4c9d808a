// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import TestSupport
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

    private static func flags(
        of addresses: [IPAddress],
        _ source: NetworkSource,
        _ options: ReachabilityOptions = ReachabilityOptions()
    ) throws -> [ReachabilityFlags] {
        let queries = addresses.map { NetworkQuery.flags(of: .address($0), options: options) }
        return try source.blockingValues(of: queries).map { try $0.get() }
    }

    @Test func `the flags come in the order of the addresses`() throws {
        let addresses = (0..<100).flatMap { _ in [Self.near, Self.blocked, Self.far] }
        let flags = try Self.flags(of: addresses, source)
        #expect(flags == (0..<100).flatMap { _ -> [ReachabilityFlags] in [direct, [], .reachable] })
    }

    @Test func `an empty list of addresses asks no query`() throws {
        #expect(try Self.flags(of: [], source) == [])
        #expect(network.takeCount() == 0)
    }

    @Test func `a mapped address is an IPv4 address, and one without its zone has none`() throws {
        let mapped = IPAddress("::ffff:192.0.2.9")
        let linkLocal = IPAddress("fe80::1")
        #expect(try Self.flags(of: [mapped, linkLocal], source) == [direct, []])
    }

    @Test func `the options are those of the socket`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        #expect(try Self.flags(of: [Self.near, Self.far], source, options) == [[], []])
    }

    @Test func `a query that cannot be answered is an error`() throws {
        let error = ReachabilityError(operation: "ask for a route", number: 5)
        network.fail(error)
        #expect(source.blockingValues(of: [.flags(of: .address(Self.near))]) == [.failure(error)])
    }

    // MARK: Recorded networks

    /// A host with routes of both families, through an Ethernet interface, a tunnel, and one that is down.
    private static func recorded() throws -> SnapshotRouting {
        var snapshot = NetworkSnapshot()
        let up: LinkFlags = [.up, .running, .lowerUp]
        let links = [
            Link(index: 1, name: "lo", hardwareType: .loopback, flags: up.union(.loopback)),
            Link(index: 2, name: "eth0", flags: up),
            Link(index: 3, name: "wg0", hardwareType: .none, flags: up.union(.pointToPoint)),
            Link(index: 4, name: "eth1", flags: []),
        ]
        for link in links { snapshot.apply(.link(LinkReport(link))) }
        for rule in Rule.standard { snapshot.apply(.rule(rule)) }
        let routes: [(String, RouteType, UInt32, String?)] = [
            ("10.0.0.1/32", .local, 2, nil), ("10.0.0.0/24", .unicast, 2, nil),
            ("10.0.1.0/24", .unicast, 2, "10.0.0.7"), ("10.0.2.0/24", .unicast, 3, nil),
            ("10.0.2.128/25", .unicast, 4, nil), ("10.0.3.0/28", .prohibit, 1, nil),
            ("fd00::1/128", .local, 2, nil), ("fd00::/64", .unicast, 2, nil),
            ("fd00:0:0:1::/64", .unicast, 2, "fe80::7"), ("fd00:0:0:2::/64", .unicast, 3, nil),
            ("fd00:0:0:3::/124", .unreachable, 1, nil),
        ]
        for (text, type, interface, gateway) in routes {
            let gateway = try gateway.map { try #require(IPAddress($0)) }
            var route = Route(
                destination: try #require(IPPrefix(text)), type: type,
                nexthops: [Nexthop(interfaceIndex: interface, gateway: gateway)])
            if type == .local { (route.table, route.origin) = (Route.localTable, Route.kernelOrigin) }
            snapshot.apply(.route(route, .last))
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        return SnapshotRouting(snapshot, wirelessIndexes: [2])
    }

    @Test(arguments: [0, 1, 255, 256, 257, 600])
    func `a recorded network answers many addresses as it answers each`(count: Int) throws {
        let source = NetworkSource(routing: try Self.recorded(), resolver: ScriptedResolver())
        var generator = SeededGenerator(seed: UInt64(count))
        let special = ["::", "fe80::1", "ff0e::1", "::1", "224.0.0.1", "169.254.0.0", "::ffff:10.0.1.9"]
        var addresses: [IPAddress] = []
        for _ in 0..<count {
            let any = generator.next()
            let (net, host) = (any >> 8 % 5, any >> 32)
            switch any % 10 {
            case 0: addresses.append(try #require(IPAddress(special[Int(host % 7)])))
            case 1: addresses.append(addresses.randomElement(using: &generator) ?? .loopbackV4)
            case 2...5: addresses.append(IPAddress(10, 0, UInt8(net), UInt8(truncatingIfNeeded: host)))
            default: addresses.append(IPAddress(v6High: 0xfd00 << 48 | net, low: host & 31))
            }
        }
        let each = try addresses.map { try NetworkReachability(address: $0, source: source).blockingFlags() }
        #expect(try Self.flags(of: addresses, source) == each)
        #expect(count < 255 || Set(each).count > 3)

        for detail in ReachabilityReport.Detail.allCases {
            let together = Self.reports(of: addresses, detail, source)
            #expect(together == addresses.flatMap { Self.reports(of: [$0], detail, source) })
        }
    }

    private static func reports(
        of addresses: [IPAddress],
        _ detail: ReachabilityReport.Detail,
        _ source: NetworkSource
    ) -> [Result<ReachabilityReport, ReachabilityError>] {
        source.blockingValues(of: addresses.map { .report(of: .address($0), detail) })
    }

    @Test func `an address in a zone that does not exist hides no other one`() throws {
        let source = NetworkSource(routing: try Self.recorded(), resolver: ScriptedResolver())
        let stray = IPAddress("fe80::1%nowhere")
        let all = [IPAddress(10, 0, 0, 9), stray, IPAddress(10, 0, 1, 9)]
        let alone = try all.map { try NetworkReachability(address: $0, source: source).blockingFlags() }
        #expect(try Self.flags(of: all, source) == alone)
        #expect(alone[1] == [])
    }
}
