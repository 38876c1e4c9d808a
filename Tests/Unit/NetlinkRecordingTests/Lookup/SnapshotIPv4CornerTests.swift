// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// What the kernel does to an IPv4 query before and after it looks into tables.
///
/// Each was tried on a kernel first.
struct SnapshotIPv4CornerTests {
    private static let own = InterfaceAddress(
        interfaceIndex: 2, address: IPAddress(192, 0, 2, 2), prefixLength: 24)

    /// A host with a default route out of `eth0`, its own address and the loopback network.
    private static func host(_ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost(
            .address(own), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("127.0.0.0/8", dev: 1) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) }
        )
        for change in changes { host.apply(change) }
        return host
    }

    // MARK: Before the tables

    @Test(arguments: [
        ("224.0.0.5", "errno 22"), ("255.255.255.255", "errno 22"), ("203.0.113.9", "errno 101"),
        ("192.0.2.2", "0.0.0.0/0 192.0.2.1 dev 2"), ("0.0.0.0", "0.0.0.0/0 192.0.2.1 dev 2"),
    ])
    func `a source must be an address of this host, and no group`(source: String, way: String) {
        #expect(Self.host().way("10.0.0.1", from: source) == way)
    }

    /// It was refused: a main table whose only match is a default route was taken for one without a match.
    @Test func `where local and main share a tree, a local default route makes any source an own address`() {
        let host = makeHost(
            .address(Self.own), .route("0.0.0.0/0", dev: 2) { ($0.type, $0.scope) = (.local, .host) })
        let way = host.way("10.0.0.1", from: "203.0.113.9")
        #expect(way.hasPrefix("undecided: the tables do not say whether a rule was ever added"), "\(way)")
    }

    /// The main table was searched; the kernel says ENETUNREACH until a rule is added.
    @Test func `a throw route of the local table leaves it open whether the main table is searched`() {
        let route = NetworkChange.route("10.0.0.0/8", nexthops: []) { ($0.type, $0.table) = (.throw, 255) }
        let way = Self.host(route).way("10.0.0.1")
        #expect(way.hasPrefix("undecided: the tables do not say whether a rule was ever added"), "\(way)")
        let rule = NetworkChange.rule(.v4, 100, .lookup(table: 100))
        #expect(Self.host(route, rule).way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    /// It was refused with the setting, too, and later with that of all interfaces.
    @Test func `packets of the loopback network leave where route_localnet is set`() {
        func way(_ isSet: Bool, all: Bool = false) -> String {
            var link = Link(index: 2, name: "eth0")
            link.settings = RoutingSettings(ipv4IgnoresLinkdown: false, routesLoopback: isSet)
            let address = InterfaceAddress(
                interfaceIndex: 1, address: .loopbackV4, prefixLength: 8, scope: .host)
            var host = Self.host(.link(LinkReport(link)), .address(address))
            host.settings.routesLoopback = all
            return host.way("10.0.0.1", from: "127.0.0.1")
        }
        #expect(way(false) == "errno 22")
        #expect(way(true) == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(way(false, all: true) == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    /// It was that of the wider scope, with the setting too.
    @Test func `with route_localnet an address of scope host is the source of packets to the link`() throws {
        func source(_ isSet: Bool) throws -> IPAddress? {
            var link = Link(index: 2, name: "eth0")
            link.settings = RoutingSettings(ipv4IgnoresLinkdown: false, routesLoopback: isSet)
            let hidden = InterfaceAddress(
                interfaceIndex: 2, address: IPAddress(10, 9, 2, 3), prefixLength: 32, scope: .host)
            let host = Self.host(
                .link(LinkReport(link)), .address(hidden),
                .route("10.0.0.0/8", dev: 2) { $0.scope = .link })
            let query = RouteQuery(destination: IPAddress(10, 0, 0, 1)).forPacket
            return try SnapshotRouting(host).answer(to: query).source
        }
        #expect(try source(false) == Self.own.address)
        #expect(try source(true) == IPAddress(10, 9, 2, 3))
    }

    /// The hash of a packet chooses the nexthop, and so whether the packet leaves.
    @Test func `packets from 127.0.0.1 are undecided if only some nexthops let them leave`() {
        func way(_ settings: [Bool], flags: NexthopFlags = [], isUp: Bool = true) -> String {
            var first = Nexthop(interfaceIndex: 2)
            first.flags = flags
            var host = Self.host(
                .address(
                    InterfaceAddress(
                        interfaceIndex: 1, address: .loopbackV4, prefixLength: 8, scope: .host)),
                .route("10.0.0.0/8", nexthops: [first, Nexthop(interfaceIndex: 3)]))
            for (index, isSet) in zip(2... as PartialRangeFrom<UInt32>, settings) {
                var link = Link(
                    index: index, name: "eth\(index)", flags: isUp || index > 2 ? [.up, .lowerUp] : [])
                link.settings = RoutingSettings(ipv4IgnoresLinkdown: !flags.isEmpty, routesLoopback: isSet)
                host.apply(.link(LinkReport(link)))
            }
            return host.way("10.0.0.1", from: "127.0.0.1")
        }
        #expect(way([false, false]) == "errno 22")
        #expect(way([false, true]).hasPrefix("undecided"))
        #expect(way([true, false]).hasPrefix("undecided"))
        #expect(way([true, true]) == "10.0.0.0/8 link dev 2, link dev 3")
        // The kernel can choose one without a carrier if it was set to ignore these after the carrier went.
        #expect(way([true, false], flags: [.dead, .linkDown]).hasPrefix("undecided"))
        #expect(way([true, false], flags: [.dead, .linkDown], isUp: false) == "errno 22")
    }

    @Test func `an address below a local route is one of this host`() {
        let route = NetworkChange.route("198.18.0.0/15", dev: 1) {
            ($0.type, $0.table, $0.scope) = (.local, 255, .host)
        }
        #expect(Self.host(route).way("10.0.0.1", from: "198.18.5.5") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(Self.host().way("10.0.0.1", from: "198.18.5.5") == "errno 101")
    }

    @Test(arguments: ["224.0.1.1", "255.255.255.255"])
    func `for a group the source decides the interface, and no entry is named`(group: String) {
        #expect(Self.host().way(group, from: "192.0.2.2") == "errno 113")
    }

    // MARK: Gateways of the host

    /// What a packet to 198.51.100.1 is sent to: a gateway, or `nil` for the address itself.
    private static func gateway(_ host: NetworkSnapshot) throws(ReachabilityError) -> IPAddress? {
        let answer = try SnapshotRouting(host).answer(
            to: RouteQuery(destination: IPAddress(198, 51, 100, 1)).forPacket)
        return answer.nexthops.first?.gateway
    }

    private static let throughOwn = NetworkChange.route("198.51.100.0/24", via: "192.0.2.2", dev: 2)

    @Test func `a gateway that is an address of the host is ignored`() throws {
        #expect(try Self.gateway(Self.host(Self.throughOwn)) == nil)
    }

    @Test func `a gateway that is an address of another interface is used`() throws {
        let other = InterfaceAddress(interfaceIndex: 3, address: IPAddress(192, 0, 2, 9), prefixLength: 32)
        let route = NetworkChange.route("198.51.100.0/24", via: "192.0.2.9", dev: 2)
        #expect(try Self.gateway(Self.host(.address(other), route)) == other.address)
    }

    /// It was ignored, as Cilium's in its table for proxies.
    @Test func `a gateway of the host that is on the link in the table of its route is used`() throws {
        func gateway(_ entry: NetworkChange) throws(ReachabilityError) -> IPAddress? {
            let route = NetworkChange.route("198.51.100.0/24", via: "192.0.2.2", dev: 2) { $0.table = 100 }
            return try Self.gateway(Self.host(.rule(.v4, 100, .lookup(table: 100)), entry, route))
        }
        func entry(_ prefix: String, dev index: UInt32 = 2, _ change: (inout Route) -> Void) -> NetworkChange
        {
            .route(prefix, dev: index) {
                ($0.table, $0.scope) = (100, .link)
                change(&$0)
            }
        }
        #expect(try gateway(entry("192.0.2.2/32") { _ in }) == Self.own.address)
        #expect(try gateway(entry("192.0.2.0/24") { _ in }) == Self.own.address)
        // The kernel then looks into the tables of all rules, where the address is local.
        #expect(try gateway(entry("192.0.2.2/32", dev: 3) { _ in }) == nil)
        #expect(try gateway(entry("192.0.2.2/32") { $0.scope = .universe }) == nil)
        #expect(try gateway(entry("192.0.2.2/32") { $0.table = 101 }) == nil)
        #expect(try gateway(entry("192.0.2.2/32") { ($0.type, $0.scope) = (.local, .host) }) == nil)
        #expect(try gateway(entry("192.0.2.2/32") { ($0.type, $0.nexthops) = (.unreachable, []) }) == nil)
    }

    /// It was ignored where the address came later.
    @Test func `a gateway with onlink is used, also where it is an address of the host`() throws {
        let nexthop = Nexthop(interfaceIndex: 2, gateway: Self.own.address, flags: .onLink)
        let route = NetworkChange.route("198.51.100.0/24", nexthops: [nexthop])
        #expect(try Self.gateway(Self.host(route)) == Self.own.address)
        let other = InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 7), prefixLength: 24)
        let host = Self.host(.address(other), route, .removedAddress(Self.own))
        #expect(try Self.gateway(host) == Self.own.address)
    }

    @Test func `a gateway that was an address of the host is ignored after the address is gone`() throws {
        let other = InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 7), prefixLength: 24)
        let host = Self.host(.address(other), Self.throughOwn, .removedAddress(Self.own))
        #expect(try Self.gateway(host) == nil)
    }

    @Test func `a gateway that becomes an address of the host is used on`() throws {
        let later = InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 8), prefixLength: 24)
        let route = NetworkChange.route("198.51.100.0/24", via: "192.0.2.8", dev: 2)
        var host = Self.host(route, .address(later))
        #expect(try Self.gateway(host) == IPAddress(192, 0, 2, 8))
        // A route that is added again is another one.
        guard case .route(let gone, _) = route else { return }
        host.apply(.removedRoute(gone))
        host.apply(route)
        #expect(try Self.gateway(host) == nil)
    }

    @Test func `a nexthop object keeps what its gateway was`() throws {
        let nexthop = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 8))
        let later = InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 8), prefixLength: 24)
        let route = NetworkChange.route("198.51.100.0/24", nexthops: [nexthop]) { $0.nexthopID = 7 }
        let object = NetworkChange.nexthop(NexthopObject(id: 7, kind: .single(nexthop)))
        #expect(try Self.gateway(Self.host(object, route, .address(later))) == IPAddress(192, 0, 2, 8))
        // The route was added later than the address, and the object was not.
        let refreshed = NetworkChange.nexthop(NexthopObject(id: 7, kind: .single(nexthop)))
        #expect(try Self.gateway(Self.host(.address(later), refreshed, route)) == nil)
    }

    /// The kernel answered with the address of scope 200, which the scope of the route does not allow.
    @Test func `the source of a route through a nexthop object is open where the scopes allow several`()
        throws
    {
        let narrow = InterfaceAddress(
            interfaceIndex: 2, address: IPAddress(172, 20, 2, 9), prefixLength: 32,
            scope: RouteScope(rawValue: 200))
        let nexthop = Nexthop(interfaceIndex: 2)
        let query = RouteQuery(destination: IPAddress(198, 51, 100, 1))
        func sources(_ id: UInt32) throws(ReachabilityError) -> [IPAddress] {
            let route = NetworkChange.route("198.51.100.0/24", nexthops: [nexthop]) { $0.nexthopID = id }
            let object = NetworkChange.nexthop(NexthopObject(id: 7, kind: .single(nexthop)))
            let routing = SnapshotRouting(makeHost(.address(narrow), .address(Self.own), object, route))
            return try routing.sourceAddresses(for: query, after: try routing.answer(to: query))
        }
        #expect(try sources(7) == [Self.own.address, narrow.address])
        #expect(try sources(0) == [Self.own.address])
    }

    /// The kernel refused it with EINVAL, and the lookup found the route.
    @Test func `a route of host scope is refused while only the loopback has a source for it`() throws {
        let loopback = InterfaceAddress(
            interfaceIndex: 1, address: .loopbackV4, prefixLength: 8, scope: .host)
        let route = NetworkChange.route("198.51.100.0/24", dev: 2) { $0.scope = .host }
        func way(_ changes: NetworkChange...) -> String {
            var host = makeHost(.address(loopback), route)
            for change in changes { host.apply(change) }
            return host.way("198.51.100.1")
        }
        #expect(way() == "errno \(RouteRejection.blackhole.rawValue)")
        #expect(way(.address(Self.own)) == "198.51.100.0/24 link dev 2")
        let explicit = NetworkChange.route("198.51.100.0/25", dev: 2) { $0.preferredSource = .loopbackV4 }
        #expect(way(.address(Self.own), explicit) == "errno \(RouteRejection.blackhole.rawValue)")
    }

    // MARK: Addresses of several interfaces

    /// What `eth0` (2) or `eth1` (3) has, added at a time in 1/100 s.
    private static func shared(_ interface: UInt32, at time: UInt32? = nil) -> InterfaceAddress {
        var address = InterfaceAddress(
            interfaceIndex: interface, address: IPAddress(192, 0, 2, 9), prefixLength: 24)
        address.created = time
        return address
    }

    /// The interface that a group goes out of, from the address that two interfaces have.
    private static func groupInterface(
        _ host: NetworkSnapshot,
        from source: IPAddress = IPAddress(192, 0, 2, 9)
    ) throws(ReachabilityError) -> UInt32? {
        var query = RouteQuery(destination: IPAddress(224, 0, 1, 1))
        query.source = source
        let answer = try SnapshotRouting(host).answer(to: query.forPacket)
        return answer.nexthops.first?.interfaceIndex
    }

    /// It went out of the interface that was listed first.
    @Test func `a group from an address of two interfaces goes out of the one that got it last`() throws {
        func dumped(_ first: UInt32, _ second: UInt32) -> NetworkSnapshot {
            makeHost(.address(Self.shared(2, at: first)), .address(Self.shared(3, at: second)))
        }
        #expect(try Self.groupInterface(dumped(100, 101)) == 3)
        #expect(try Self.groupInterface(dumped(101, 100)) == 2)
        var host = dumped(100, 101)
        host.apply(.removedAddress(Self.shared(2)))
        host.apply(.address(Self.shared(2, at: 102)))
        #expect(try Self.groupInterface(host) == 2)
        // A changed address stays where it is in the kernel's hash.
        host.apply(.address(Self.shared(3, at: 101)))
        #expect(try Self.groupInterface(host) == 2)
    }

    @Test func `a group from an address keeps its interface while that is down`() throws {
        var host = makeHost(.address(Self.shared(2, at: 100)), .address(Self.shared(3, at: 101)))
        host.apply(.link(LinkReport(Link(index: 3, name: "eth1", flags: []))))
        #expect(try Self.groupInterface(host) == 3)
    }

    /// It was not reachable from there.
    @Test func `a group from an address below a local route goes out of the interface of that`() throws {
        #expect(try Self.groupInterface(Self.host(), from: IPAddress(127, 0, 0, 9)) == 1)
        #expect(try Self.groupInterface(Self.host(), from: IPAddress(198, 18, 5, 5)) == nil)
    }

    @Test(arguments: [100, nil] as [UInt32?])
    func `a dump does not decide which of two interfaces got an address last at one time`(time: UInt32?) {
        let host = makeHost(.address(Self.shared(2, at: time)), .address(Self.shared(3, at: time)))
        let error = #expect(throws: ReachabilityError.self) { try Self.groupInterface(host) }
        #expect(error?.code == .undecided)
    }

    @Test(arguments: [100, nil] as [UInt32?])
    func `notifications decide which of two interfaces got an address last at one time`(
        time: UInt32?
    ) throws {
        var host = makeHost(.address(Self.shared(3, at: time)))
        host.apply(.address(Self.shared(2, at: time)))
        #expect(try Self.groupInterface(host) == 2)
    }

    @Test func `an interface that is down has no route`() {
        let host = Self.host(.link(LinkReport(Link(index: 3, name: "eth1", flags: []))))
        #expect(host.way("10.0.0.1", dev: 3) == "errno 101")
    }

    @Test(arguments: ["224.0.0.251", "255.255.255.255"])
    func `link groups and the broadcast leave a bound socket without a lookup`(group: String) {
        let route = NetworkChange.route("224.0.0.0/4", dev: 2)
        #expect(Self.host(route).way(group, dev: 2) == "errno 113")
        #expect(Self.host(route).way("224.0.1.1", dev: 2) == "multicast 224.0.0.0/4 link dev 2")
    }

    /// It was unknown without a route, and that of the route with one.
    @Test(arguments: [
        IPAddress(224, 0, 0, 251), IPAddress(255, 255, 255, 255), IPAddress(225, 1, 1, 1),
        IPAddress(239, 1, 1, 1),
    ])
    func `a group out of an interface has an address of that as source, whatever its route`(
        group: IPAddress
    ) throws {
        let second = InterfaceAddress(
            interfaceIndex: 3, address: IPAddress(198, 51, 100, 2), prefixLength: 24)
        let host = Self.host(
            .address(second),
            .route("239.0.0.0/8", via: "198.51.100.1", dev: 3) { $0.preferredSource = Self.own.address })
        let query = RouteQuery(destination: group, outputInterface: 3)
        #expect(try SnapshotRouting(host).answer(to: query.forPacket).source == second.address)
    }

    /// It went out of the interface of the route.
    @Test func `a group that a local route takes stays in the host, and is its own source`() throws {
        let host = Self.host(
            .route("239.0.0.0/8", dev: 2) { ($0.type, $0.scope) = (.local, .host) })
        var query = RouteQuery(destination: IPAddress(239, 1, 1, 1))
        let answer = try SnapshotRouting(host).answer(to: query.forPacket)
        #expect(answer.type == .multicast && answer.nexthops.map(\.interfaceIndex) == [1])
        #expect(answer.source == query.destination)
        query.destination = IPAddress(238, 1, 1, 1)
        #expect(try SnapshotRouting(host).answer(to: query.forPacket).nexthop?.interfaceIndex == 2)
    }

    @Test func `0.0.0.0 is unreachable`() {
        #expect(Self.host().way("0.0.0.0") == "errno 113")
    }

    // MARK: After the tables

    @Test func `a packet from a loopback address does not leave through another interface`() {
        #expect(Self.host().way("10.0.0.1", from: "127.0.0.1") == "errno 22")
        #expect(Self.host().way("224.0.0.1", dev: 2, from: "127.0.0.1") == "errno 22")
        #expect(Self.host().way("127.0.0.9", from: "127.0.0.1") == "local 127.0.0.0/8 link dev 1")
        let own = NetworkChange.route("192.0.2.2/32", dev: 2) {
            ($0.type, $0.table, $0.scope) = (.local, 255, .host)
        }
        #expect(Self.host(own).way("192.0.2.2", from: "127.0.0.1") == "local 192.0.2.2/32 link dev 2")
    }

    @Test func `groups and the broadcast keep their type, regardless of the entry`() {
        #expect(Self.host().way("239.1.1.1") == "multicast 0.0.0.0/0 192.0.2.1 dev 2")
        #expect(Self.host().way("255.255.255.255") == "broadcast 0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `a query bound to a VRF's port that finds nothing is refused, except for a group`() {
        let vrf = Link(index: 4, name: "red", flags: [.up, .running, .master], kind: "vrf", vrfTable: 100)
        let host = Self.host(
            .link(LinkReport(vrf)), .link(LinkReport(Link(index: 3, name: "eth1", master: 4))),
            .rule(.v4, 1_000, .lookup(table: 0)) { $0.isL3MDev = true },
            .rule(.v4, 1_001, .unreachable) { $0.isL3MDev = true }
        )
        #expect(host.way("11.0.0.1", dev: 3) == "errno 101")
        #expect(host.way("239.1.1.1", dev: 3) == "errno 113")
    }

    // MARK: Entries

    @Test func `entries for a type of service do not match packets without one`() {
        let marked = NetworkChange.route("10.0.0.0/8", via: "198.51.100.1", dev: 3) { $0.tos = 0x10 }
        #expect(Self.host(marked).way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `throw ends the table, not the search`() {
        let host = Self.host(
            .route("10.0.0.0/8", nexthops: []) { ($0.type, $0.table) = (.throw, 100) },
            .route("0.0.0.0/0", via: "198.51.100.1", dev: 3) { $0.table = 100 },
            .rule(.v4, 50, .lookup(table: 100))
        )
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("11.0.0.1") == "0.0.0.0/0 198.51.100.1 dev 3")
    }

    @Test(arguments: [(RouteType.blackhole, 22), (.unreachable, 113), (.prohibit, 13)])
    func `an entry that refuses ends the search with its errno`(type: RouteType, number: Int) {
        let host = Self.host(.route("10.0.0.0/8", nexthops: []) { $0.type = type })
        #expect(host.way("10.0.0.1") == "errno \(number)")
    }

    @Test func `a route over a blackhole object drops`() {
        let host = Self.host(
            .nexthop(NexthopObject(id: 5, kind: .blackhole)),
            .route("10.0.0.0/8", nexthops: []) { $0.nexthopID = 5 })
        #expect(host.way("10.0.0.1") == "errno 22")
    }

    @Test func `a route over an object that was not recorded is undecided`() {
        let host = Self.host(.route("10.0.0.0/8", nexthops: []) { $0.nexthopID = 5 })
        #expect(host.way("10.0.0.1") == "undecided: nexthop 5 was not recorded")
    }

    @Test func `whether a nexthop without a carrier counts is a setting, where another way is open`() {
        let down = Nexthop(interfaceIndex: 3, flags: .linkDown)
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("10.0.0.0/8", nexthops: [down]))
        host.settings.ipv4IgnoresLinkdown = nil
        #expect(
            host.way("10.0.0.1").hasPrefix("undecided: the tables do not say whether routes without"))
        host.settings.ipv4IgnoresLinkdown = false
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 3")
    }
}
