// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import TestSupport
import Testing

/// Networks with so many parts that looking at each of them for each of them would take minutes or hours.
struct LargeSnapshotTests {
    private static func own(_ number: UInt32) -> InterfaceAddress {
        InterfaceAddress(interfaceIndex: 2, address: IPAddress(v4: 0x0a00_0000 + number), prefixLength: 32)
    }

    @Test func `very many addresses are notified with their routes, and asked for`() throws {
        var host = makeHost()
        let count = UInt32(Rounds.of(200_000))
        for number in 1...count {
            let address = Self.own(number).address
            host.apply(.address(Self.own(number)))
            let prefix = try #require(IPPrefix(address, length: 32))
            var route = Route(
                destination: prefix, type: .local, table: Route.localTable,
                nexthops: [Nexthop(interfaceIndex: 2)])
            route.preferredSource = address
            host.apply(.route(route, .last))
        }
        host.apply(.route("0.0.0.0/0", via: "192.0.2.1", dev: 2))
        #expect(host.addresses.count == Int(count) && host.routeCount == Int(count) + 1)
        for number in stride(from: 1, through: count, by: 9_999) {
            let source = Self.own(number).address
            let query = RouteQuery(destination: IPAddress(198, 51, 100, 1), source: source)
            #expect(try host.answer(to: query).entry?.destination.length == 0, "from \(source)")
            #expect(host.way("\(source)") == "local \(source)/32 link dev 2")
        }
        let stranger = RouteQuery(destination: .loopbackV4, source: Self.own(count + 1).address)
        #expect(try host.answer(to: stranger) == .rejected(.noRoute))
    }

    @Test func `very many addresses go in the order in which they came, and the last takes the routes along`()
    {
        var host = makeHost(.route("10.0.0.0/8", dev: 2))
        let count = UInt32(Rounds.of(200_000))
        for number in 1...count { host.apply(.address(Self.own(number))) }
        for number in 1..<count { host.apply(.removedAddress(Self.own(number))) }
        #expect(host.addresses == [Self.own(count)] && host.routeCount == 1)
        host.apply(.removedAddress(Self.own(count)))
        #expect(host.addresses.isEmpty && host.routeCount == 0)
    }

    @Test func `50,000 rules are inserted backwards and walked to the last`() throws {
        var host = makeHost(.route("0.0.0.0/0", via: "192.0.2.1", dev: 2))
        let count: UInt32 = 50_000
        for number in (1...count).reversed() {
            var rule = Rule(family: .v4, priority: 100 + number, action: .prohibit)
            // An interface's name, a jump to a rule that is not there, and a mark that no plain query has.
            switch number % 3 {
            case 0: rule.outputInterface = "eth1"
            case 1: rule.action = .goto(priority: 90_000)
            default: rule.mark = Masked(number)
            }
            host.apply(.rule(rule))
        }
        let priorities = host.rules.filter { $0.family == .v4 }.map(\.priority)
        #expect(priorities.count == Int(count) + 3 && priorities == priorities.sorted())
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        let marked = RouteQuery(destination: IPAddress(10, 0, 0, 1), mark: 29_999)
        #expect(try host.answer(to: marked) == .rejected(.prohibited))
        for rule in host.rules where rule.priority > 100 && rule.priority < 32_000 {
            host.apply(.removedRule(rule))
        }
        #expect(host.rules.count == 5 + Int(count) - 31_899)
    }

    @Test func `20,000 settings of interfaces are applied, and 20,000 nexthop objects added and removed`() {
        var host = makeHost()
        for index in 10..<20_010 as Range<UInt32> {
            host.apply(
                .link(
                    LinkReport(
                        Link(index: index, name: "v\(index)", settings: RoutingSettings(ipv6Forwards: false)))
                ))
            for family in IPAddress.Family.allCases {
                host.apply(
                    .settings(.ignoring(family, .interface(index), true)))
            }
            host.apply(
                .nexthop(NexthopObject(id: index, kind: .single(Nexthop(interfaceIndex: index)))))
            host.apply(
                .nexthop(NexthopObject(id: index + 100_000, kind: .group([.init(id: index)]))))
        }
        #expect(host.links.values.filter { $0.settings.ipv4IgnoresLinkdown == true }.count == 20_000)
        for index in 10..<20_009 as Range<UInt32> { host.apply(.removedNexthop(id: index)) }
        #expect(host.nexthopObjects.keys.sorted() == [20_009, 120_009])
    }

    @Test func `a chain of 100,000 groups is removed with the nexthop object at its end`() {
        var host = makeHost(.nexthop(NexthopObject(id: 1, kind: .single(Nexthop(interfaceIndex: 2)))))
        for id in 2...100_000 as ClosedRange<UInt32> {
            host.apply(.nexthop(NexthopObject(id: id, kind: .group([.init(id: id - 1)]))))
        }
        host.apply(.removedNexthop(id: 1))
        #expect(host.nexthopObjects.isEmpty)
    }

    @Test func `150,000 routes give the summaries of their answers`() throws {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("10.1.2.0/24", nexthops: [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)]),
            .route("10.1.3.0/24", nexthops: []) { $0.type = .prohibit },
            .route("10.1.4.4/32", dev: 1) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) }
        )
        for number in 0..<150_000 as Range<UInt32> {
            // Of a /24 in each slot some are cut in two, and some have a hole in their midst.
            let length = number % 7 == 0 ? 25 : number % 11 == 0 ? 30 : number % 5 == 0 ? 20 : 24
            let key = (0x0a00_0000 &+ number &* 0x0001_0300) & UInt32.max << (32 - UInt32(length))
            let prefix = try #require(IPPrefix(IPAddress(v4: key), length: length))
            let nexthop = Nexthop(
                interfaceIndex: 2 + number % 2, gateway: IPAddress(v4: 0xc000_0200 | number % 50))
            host.apply(.route(Route(destination: prefix, nexthops: [nexthop]), .last))
        }
        #expect(host.routeCount > 140_000)
        let special = ["10.1.2.1", "10.1.3.1", "10.1.4.4", "224.0.0.1", "0.0.0.0"].compactMap {
            IPAddress($0)
        }
        let others = (0..<5_000 as Range<UInt32>).map { IPAddress(v4: $0 &* 0x040c_141c &+ 0x0a01_0000) }
        let expected = try (special + others).map {
            try host.answer(to: RouteQuery(destination: $0)).path
        }
        #expect(expected[0].nexthops == [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        var lookups = (special + others).map { RouteLookup(RouteQuery(destination: $0)) }
        _ = SnapshotRouting(host).answer(&lookups, from: 0)
        #expect(try lookups.map { try $0.result.get().path } == expected)
    }
}
