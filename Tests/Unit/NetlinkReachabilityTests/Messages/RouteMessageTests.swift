// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Routes, addresses, nexthops and neighbours out of recordings, against what `ip` printed beside them.
struct RouteMessageTests {
    private func route(_ fixture: String, _ matches: (Route) -> Bool) -> Route? {
        Fixture.named(fixture).routes.first(where: matches)
    }

    private func prefix(_ text: String, _ length: Int) -> IPPrefix? {
        IPAddress(text).flatMap { IPPrefix($0, length: length) }
    }

    @Test func `multipath routes have their nexthops and weights`() {
        let v4 = route("multipath") { $0.destination == .allV4 }
        #expect(
            v4?.nexthops == [
                Nexthop(interfaceIndex: 2, gateway: IPAddress("192.0.2.1"), weight: 1),
                Nexthop(interfaceIndex: 3, gateway: IPAddress("192.0.3.1"), weight: 2),
            ]
        )
        let v6 = route("multipath") { $0.destination == .allV6 && $0.nexthops.count > 1 }
        #expect(v6?.nexthops.map(\.gateway) == [IPAddress("2001:db8:1::1"), IPAddress("2001:db8:2::1")])
        #expect(v6?.priority == 1_024)
    }

    @Test func `only the nexthop without a carrier is marked`() {
        let route = route("multipath-linkdown") { $0.destination == .allV4 }
        #expect(route?.nexthops.map(\.flags) == [.linkDown, []])
    }

    @Test func `an IPv6 gateway of an IPv4 route is read`() {
        let route = route("via-ipv6") { $0.destination == prefix("198.51.100.0", 24) }
        #expect(route?.nexthops == [Nexthop(interfaceIndex: 2, gateway: IPAddress("fe80::1"))])
    }

    @Test func `nexthop objects are named`() {
        let v4 = route("nexthop-objects") { $0.destination == .allV4 }
        #expect(v4?.nexthopID == 10)
        #expect(v4?.nexthops.map(\.weight) == [1, 2])
        let blackhole = route("nexthop-objects") { $0.nexthopID == 99 }
        #expect(blackhole?.type == .blackhole)
        let v6 = route("nexthop-objects") { $0.destination == .allV6 && $0.nexthopID == 6 }
        #expect(v6?.nexthops.map(\.gateway) == [IPAddress("2001:db8:1::1")])
    }

    @Test func `nexthop groups and members are read`() {
        var found: [UInt32: NexthopObject.Kind] = [:]
        for case .change(.nexthop(let object)) in Fixture.named("nexthop-objects").contents {
            found[object.id] = object.kind
        }
        #expect(found.keys.sorted() == [1, 2, 6, 10, 99])
        #expect(found[99] == .blackhole)
        #expect(found[10] == .group([.init(id: 1), .init(id: 2, weight: 2)]))
        #expect(nexthop(found[2])?.interfaceIndex == 3)
        #expect(nexthop(found[1])?.gateway?.family == .v4 && nexthop(found[6])?.gateway?.family == .v6)
    }

    private func nexthop(_ kind: NexthopObject.Kind?) -> Nexthop? {
        if case .single(let nexthop) = kind { nexthop } else { nil }
    }

    @Test func `special routes have their types`() {
        func type(_ text: String, _ length: Int, table: UInt32 = 254) -> RouteType? {
            route("policy") { $0.destination == prefix(text, length) && $0.table == table }?.type
        }
        #expect(type("10.0.0.0", 8) == .unreachable)
        #expect(type("203.0.113.0", 25) == .blackhole)
        #expect(type("203.0.113.128", 25) == .prohibit)
        #expect(type("0.0.0.0", 0, table: 101) == .throw)
        #expect(type("0.0.0.0", 0, table: 105) == .unreachable)
        #expect(type("0.0.0.0", 0, table: 100) == .unicast)
        #expect(type("2001:db8:beef::", 48) == .blackhole)
        #expect(type("2001:db8:dead::", 48) == .unreachable)
    }

    @Test func `details of routes are read`() {
        let marked = route("policy") { $0.tos != 0 }
        #expect(marked?.tos == 0x10 && marked?.priority == 50)
        #expect(marked?.destination == prefix("198.18.0.0", 15))
        let onlink = route("policy") { $0.priority == 100 }
        #expect(onlink?.nexthops.map(\.flags) == [.onLink])
        let preferred = route("policy") { $0.destination == prefix("100.64.0.0", 10) }
        #expect(preferred?.preferredSource == IPAddress("192.0.2.2"))
        #expect(preferred?.origin == 186)
        let connected = route("policy") { $0.destination == prefix("192.0.2.0", 24) }
        #expect(connected?.scope == .link && connected?.origin == 2)
    }

    @Test func `lifetime, preference and source of IPv6 routes are read`() {
        let announced = route("source-specific") { $0.destination == .allV6 && $0.origin == 9 }
        #expect(announced?.preference == .high)
        #expect(announced?.expires.map { $0 > 50_000 && $0 < 60_000 } == true)
        let specific = route("source-specific") { $0.source != nil }
        #expect(specific?.source == prefix("2001:db8:1::", 64))
        #expect(specific?.destination == prefix("2001:db8:ffff::", 48))
        let local = route("source-specific") { $0.destination == prefix("2001:db8:aaaa::", 48) }
        #expect(local?.type == .local && local?.nexthops.map(\.interfaceIndex) == [1])
    }

    @Test(arguments: Fixture.states) func `every nexthop names an interface of the same recording`(
        fixture: Fixture
    ) {
        let known = Set(fixture.links.map(\.index))
        for route in fixture.routes {
            #expect(route.nexthops.allSatisfy { known.contains($0.interfaceIndex) }, "\(route)")
            #expect(!route.nexthops.isEmpty || route.type.rawValue >= 6, "\(route)")
        }
        #expect(fixture.addresses.allSatisfy { known.contains($0.interfaceIndex) })
    }

    @Test func `addresses are read with peer, scope and flags`() {
        let zoo = Fixture.named("zoo-up")
        let eth0 = zoo.addresses.first { $0.address == IPAddress("192.0.2.2") }
        #expect(eth0?.prefixLength == 24 && eth0?.peer == nil && eth0?.scope == .universe)
        #expect(eth0?.flags.contains(.permanent) == true)
        let loopback = zoo.addresses.first { $0.address == .loopbackV6 }
        #expect(loopback?.scope == .host && loopback?.prefixLength == 128)
        let ppp = Fixture.named("ppp-up").addresses.first { $0.peer != nil }
        #expect(ppp?.prefixLength == 32)
    }

    @Test(arguments: Fixture.states) func `the time at which an address was added is read`(fixture: Fixture) {
        #expect(fixture.addresses.allSatisfy { $0.created != nil })
    }

    // MARK: Corners

    @Test(arguments: [UInt8(0), 7, 28, 128, 129, 255]) func `messages of other families are ignored`(
        family: UInt8
    ) {
        #expect(MessageBytes.route(family: family).content == .ignored)
        #expect(MessageBytes.address(family: family).content == .ignored)
        #expect(MessageBytes.rule(family: family).content == .ignored)
    }

    @Test(arguments: [UInt16(0), 1, 2, 3, 15, 18, 30, 36, 106, 0xffff])
    func `messages of other types are ignored`(type: UInt16) {
        #expect(MessageBytes(type: type, fixed: Array(repeating: 0, count: 64)).content == .ignored)
    }

    @Test(arguments: 0..<16) func `a cut fixed part is malformed`(count: Int) {
        let sizes: [UInt16: Int] = [16: 16, 20: 8, 24: 12, 28: 12, 32: 12, 104: 8]
        for (type, size) in sizes where count < size {
            #expect(MessageBytes(type: type, fixed: Array(repeating: 2, count: count)).content == .malformed)
        }
    }

    @Test func `unknown flag bits are kept`() {
        let fixed: [UInt8] = [2, 32, 0, 0, 254, 3, 0, 1] + MessageBytes.bytes(of: UInt32(0xffff_ff10))
        let message = MessageBytes(type: 24, fixed: fixed).adding(4, [7, 0, 0, 0])
        guard case .change(.route(let route, _)) = message.content else {
            Issue.record("another message was parsed")
            return
        }
        #expect(route.flags == 0xffff_ff10)
        #expect(route.nexthops.map(\.flags) == [.linkDown])
    }

    @Test func `weights above 255 are read`() {
        let message = MessageBytes.nexthop().adding(2, [5, 0, 0, 0, 0xff, 0x01, 0, 0])
        let group = NexthopObject(id: 0, kind: .group([.init(id: 5, weight: 512)]))
        #expect(message.content == .change(.nexthop(group)))
    }
}
