// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import Glibc
import RoutingModel
import Testing

@testable import NetlinkRecording

struct HostStateTests {
    /// A host with eth0 and eth1, and an address of each family on each.
    private static func host(_ changes: String...) throws -> HostState {
        var host = HostState()
        for index in [UInt32(2), 3] {
            let name = "eth\(index - 2)"
            host.add(
                Link(index: index, name: name, flags: [], operationalState: .down), HostState.Interface())
            try host.make(HostChange("link set \(name) up"))
            try host.make(HostChange("addr add 10.0.\(index - 2).2/24 dev \(name)"))
            try host.make(HostChange("addr add 2001:db8:\(index - 2)::2/64 dev \(name)"))
        }
        for change in changes { try host.make(HostChange(change)) }
        return host
    }

    private static func routes(_ host: HostState, to prefix: String) -> [Route] {
        IPPrefix(prefix).map { host.snapshot.routes(to: $0, table: Route.mainTable) } ?? []
    }

    private static func errno(of change: String, on host: HostState) throws -> Int32? {
        var host = host
        let change = try HostChange(change)
        do throws(KernelRefusal) {
            try host.make(change)
            return 0
        } catch {
            return error.number
        }
    }

    @Test(
        arguments: [
            ("ip route add default via 10.0.0.1", "r a default via 10.0.0.1"),
            ("-6 route del default dev eth0", "ip -6 ro d default dev eth0"),
            ("rule add from 10.0.0.0/8 table 100 pref 5", "ru add pref 5 from 10.0.0.0/8 lookup 100"),
            ("link set dev eth0 down", "l set eth0 down"), ("link delete eth0", "li d dev eth0"),
            ("address add 10.9.0.1/24 dev eth0", "a a 10.9.0.1/24 dev eth0"),
        ]) func `abbreviations and orders of words mean the same`(one: String, other: String) throws
    {
        #expect(try HostChange(one).actions == HostChange(other).actions)
    }

    /// The kernel looks at the flags of the other addresses only to keep the route: `check_cleanup_prefix_route`.
    @Test(arguments: [
        ["addr add 2001:db8:0::3/64 dev eth0 noprefixroute", "addr del 2001:db8:0::2/64 dev eth0"],
        ["addr add 2001:db8:0::3/64 dev eth0", "addr change 2001:db8:0::2/64 dev eth0 noprefixroute"],
    ])
    func `the route of an IPv6 subnet stays as long as another address is in it`(changes: [String]) throws {
        var host = try Self.host()
        for change in changes { try host.make(HostChange(change)) }
        #expect(Self.routes(host, to: "2001:db8:0::/64").count == 1)
    }

    /// `modify_prefix_route` replaces the first route to the subnet whose metric is another one.
    @Test(arguments: [
        (["route del 2001:db8:0::/64 dev eth0"], [256]), ([], [256]),
        (["route add 2001:db8:0::/64 dev eth0 metric 24"], [256]),
        (["route del 2001:db8:0::/64 dev eth0", "route add 2001:db8:0::/64 dev eth0 metric 1024"], [256]),
        (["route add 2001:db8:0::/64 via fe80::1 dev eth0 metric 24"], [24, 256]),
        (["route add 2001:db8:0::/64 dev eth0 metric 1024"], [256, 1_024]),
    ])
    func `an IPv6 address that is set again has the route to its subnet again`(
        changes: [String], metrics: [UInt32]
    ) throws {
        var host = try Self.host()
        for change in changes { try host.make(HostChange("-6 \(change)")) }
        try host.make(HostChange("addr replace 2001:db8:0::2/64 dev eth0"))
        #expect(Self.routes(host, to: "2001:db8:0::/64").map(\.priority).sorted() == metrics)
    }

    /// The metric of the route is that of the address, and only a permanent address replaces or loses its route.
    @Test(
        arguments: [
            (InterfaceAddressFlags.permanent, 50, "", [50]), ([], 256, "", [24, 256]),
            ([], 256, " noprefixroute", [24, 256]),
        ] as [(InterfaceAddressFlags, UInt32, String, [UInt32])])
    func `an IPv6 address that is set again keeps a route of the kernel's with another metric, or a lifetime`(
        flags: InterfaceAddressFlags, metric: UInt32, words: String, metrics: [UInt32]
    ) throws {
        var host = try Self.host("addr del 2001:db8:0::2/64 dev eth0")
        let own = InterfaceAddress(
            interfaceIndex: 2, address: IPAddress("2001:db8::2"), prefixLength: 64, flags: flags)
        host.apply(.address(own), .address(isLoss: false))
        let subnet = try #require(own.subnet)
        host.insert(
            Route(
                destination: subnet, origin: Route.kernelOrigin, priority: metric,
                nexthops: [Nexthop(interfaceIndex: 2)]))
        if flags.isEmpty {
            try host.make(HostChange("-6 route add \(subnet) dev eth0 metric 24"))
        }
        try host.make(HostChange("addr replace 2001:db8:0::2/64 dev eth0\(words)"))
        #expect(Self.routes(host, to: "2001:db8::/64").map(\.priority).sorted() == metrics)
    }

    @Test(arguments: [
        ("rule add pref 80 dport 4096/0xff00 lookup 100", nil),
        ("-6 route add blackhole 2001:db8:68::/48 via inet 192.0.2.7", EINVAL),
        ("-6 route add blackhole 2001:db8:68::/48 via 2001:db8:7::99 onlink", ENODEV),
        ("-6 route add blackhole 2001:db8:68::/48 via 2001:db8:7::99", 0),
    ])
    func `masks of ports are not known, and a route that rejects is checked before its nexthop is ignored`(
        change: String, errno: Int32?
    ) throws {
        let host = try Self.host()
        guard let errno else {
            #expect(throws: KernelRefusal.self) { try HostChange(change) }
            return
        }
        #expect(try Self.errno(of: change, on: host) == errno)
    }

    /// `fib_check_nh_v4_gw` looks into the route's own table, and decides when the route is added.
    @Test(arguments: [true, false])
    func `a route uses a gateway of this host that its table had on the link before`(isFirst: Bool) throws {
        let link = "route add 10.0.0.2/32 dev eth0 table 100"
        let change = "route add 10.9.0.0/16 via 10.0.0.2 dev eth0 table 100"
        let host = try isFirst ? Self.host(link, change) : Self.host(change, link)
        let prefix: IPPrefix = "10.9.0.0/16"
        let route = try #require(host.snapshot.routes(to: prefix, table: 100).first)
        let nexthop = try #require(route.nexthops.first)
        #expect(host.routing.ignoresGateway(nexthop, of: route) == !isFirst)
    }

    /// A carrier that comes back gives no address to an interface that was ready before: IF_READY.
    @Test(arguments: [(false, 1), (true, 0)])
    func `a carrier gives a link-local address only where there was none yet`(wasReady: Bool, count: Int)
        throws
    {
        var host = HostState()
        var interface = HostState.Interface()
        interface.hasCarrier = wasReady
        host.add(Link(index: 2, name: "eth0", flags: [], operationalState: .down), interface)
        try host.make(HostChange("link set eth0 up"))
        for address in host.snapshot.addresses(ofInterface: 2, family: .v6) {
            host.apply(.removedAddress(address), .address(isLoss: true))
        }
        host.setCarrier(2, false)
        var later = HostState(host.routing)
        later.setCarrier(2, true)
        #expect(later.snapshot.addresses(ofInterface: 2, family: .v6).count == count)
    }

    @Test(arguments: [("", "10.9.0.0/16", 0), ("-6 ", "2001:db8:9::/64", 1)])
    func `a flush of main leaves an IPv6 route of type local`(option: String, prefix: String, count: Int)
        throws
    {
        var host = try Self.host()
        let destination = try #require(IPPrefix(prefix))
        let route = Route(destination: destination, type: .local, nexthops: [Nexthop(interfaceIndex: 2)])
        host.apply(.route(route, .last), .route(destination))
        try host.make(HostChange("\(option)route flush root \(prefix)"))
        #expect(Self.routes(host, to: prefix).count == count)
    }

    /// No IFLA_LINK names the interface of a vxlan, and it stayed: `vxlan_handle_lowerdev_unregister`.
    @Test func `a vxlan goes with the interface that it is bound to`() throws {
        var host = HostState()
        for index in [UInt32(2), 3] {
            host.add(Link(index: index, name: "d\(index)", kind: "dummy"), HostState.Interface())
        }
        for (index, link) in [(4, 2), (5, 3), (6, 0)] as [(UInt32, UInt32)] {
            var ends = TunnelEnds()
            (ends.remote, ends.link) = (IPAddress(10, 0, 0, 9), link)
            host.add(
                Link(
                    index: index, name: "x\(index)", flags: [], operationalState: .down, kind: "vxlan",
                    tunnel: ends), HostState.Interface())
        }
        try host.make(HostChange("link del d2"))
        #expect([2, 3, 4, 5, 6].filter { host.snapshot.links[$0] != nil } == [3, 5, 6])
    }

    @Test func `a missing interface is refused before anything else, as ip looks it up first`() throws {
        let route = "-6 route add 2001:db8:9::/48 tos 0x10 via 2001:db8:0::1 dev"
        let host = try Self.host()
        #expect(try Self.errno(of: "\(route) nosuch", on: host) == ENODEV)
        #expect(try Self.errno(of: "\(route) eth0", on: host) == EINVAL)
    }

    @Test func `routes of one metric stand in the kernel's order, and nexthops of IPv6 are joined`() throws {
        let host = try Self.host(
            "route add 10.9.0.0/16 via 10.0.0.1", "route append 10.9.0.0/16 via 10.0.1.1",
            "route prepend 10.9.0.0/16 via 10.0.0.9", "route add 10.9.0.0/16 via 10.0.0.8 metric 5",
            "-6 route add 2001:db8:9::/48 via 2001:db8:0::1",
            "-6 route append 2001:db8:9::/48 via 2001:db8:1::1")
        let gateways = Self.routes(host, to: "10.9.0.0/16").map { $0.nexthops[0].gateway?.description }
        #expect(gateways == ["10.0.0.9", "10.0.0.1", "10.0.1.1", "10.0.0.8"])
        #expect(Self.routes(host, to: "2001:db8:9::/48").map(\.nexthops.count) == [2])
        var changed = host
        try changed.make(HostChange("route replace 10.9.0.0/16 dev eth1"))
        #expect(
            Self.routes(changed, to: "10.9.0.0/16").map { $0.nexthops[0].gateway?.description }
                == [nil, "10.0.0.1", "10.0.1.1", "10.0.0.8"])
        try changed.make(HostChange("route del 2001:db8:9::/48 via 2001:db8:1::1"))
        #expect(Self.routes(changed, to: "2001:db8:9::/48").map(\.nexthops.count) == [1])
    }

    @Test(
        arguments: [
            ("route change 10.9.0.0/16 dev eth0", 2), ("route add 10.9.0.0/16", 19),
            ("route add 10.9.0.0/16 via 10.5.0.1", 101), ("route add 2001:db8:9::/48 via 2001:db8:5::1", 113),
            ("route add blackhole 10.9.0.0/16 dev eth0", 22),
            ("route add blackhole 2001:db8:9::/48 dev eth0", 0),
            ("route add unreachable 2001:db8:9::/48 via 2001:db8:5::1", 0),
            ("route add 10.9.0.0/16 dev eth0 src 10.5.0.1", 22),
            ("route add 10.0.0.0/24 dev eth0 metric 7", 0), ("addr add 10.0.0.2/24 dev eth0", 17),
            ("rule add pref 7 goto 7", 22), ("rule add lookup main", 0),
            // The kernel's own rule has another protocol: there were two of them then.
            ("rule add pref 32766 lookup main", nil), ("rule add pref 7 lookup main", 0),
            ("link del eth0", 95), ("link set eth0 master eth1", 95), ("addr add 224.0.0.5/24 dev eth0", 0),
            ("addr add ::1/128 dev eth0", 99), ("addr add ff02::5/64 dev eth0", 22),
            ("rule add sport 0 prohibit", 22), ("rule add dport 65535 prohibit", 22),
            ("rule add tos 1 prohibit", 22), ("rule add uidrange 0-4294967295 prohibit", 22),
            ("route add 2001:db8:9::/48 nexthop dev eth0 nexthop dev eth1", nil),
            ("route add 2001:db8:9::/48 via ff02::1 dev eth0", 22),
            ("route add 2001:db8:9::/48 via :: dev eth0", 22), ("route add 2001:db8:9::/48 via ::1", 22),
        ] as [(String, Int32?)])
    func `a refusal has the kernel's errno, and nothing is changed`(change: String, number: Int32?) throws {
        #expect(try Self.errno(of: change, on: Self.host()) == number)
    }

    /// The VRF driver adds this rule with the protocol of the kernel.
    @Test(arguments: [("1000", nil), ("900", EEXIST)] as [(String, Int32?)])
    func `whether the rule for VRFs can be added again depends on who added it`(
        priority: String, number: Int32?
    ) throws {
        let rule = "rule add pref \(priority) l3mdev"
        #expect(try Self.errno(of: rule, on: Self.host(rule)) == number)
    }

    /// A route of such a type refused the gateway: only unicast routes counted.
    @Test func `an IPv6 gateway can be on any route that rejects nothing and has no gateway`() throws {
        var host = try Self.host()
        let change = "route add 2001:db8:9::/48 via 2001:db8:0::1 dev eth0"
        let prefix: IPPrefix = "2001:db8::/80"
        let nexthops = [Nexthop(interfaceIndex: 2)]
        host.insert(
            Route(destination: prefix, type: .broadcast, table: Route.localTable, nexthops: nexthops))
        #expect(try Self.errno(of: change + " table 100", on: host) == 0)
        host = try Self.host("route add blackhole 2001:db8::/90")
        // It is on the loopback interface, which an interface that is given leaves out.
        #expect(try Self.errno(of: change, on: host) == 0)
        #expect(try Self.errno(of: "route add 2001:db8:9::/48 via 2001:db8:0::1", on: host) == 113)
    }

    /// They were not looked at: `fib6_node_lookup` takes a prefix that has routes for certain sources for theirs.
    @Test func `routes for certain sources hide those of their prefix from an IPv6 gateway`() throws {
        var host = try Self.host()
        var route = Route(destination: "2001:db8:0::/64")
        route.source = IPPrefix("2001:db8:1::2/128")
        route.nexthops = [Nexthop(interfaceIndex: 3)]
        host.insert(route)
        #expect(try Self.errno(of: "route add 2001:db8:9::/48 via 2001:db8:0::1 dev eth0", on: host) == 113)
    }

    /// It was looked for in the main table all the same: the local rule was taken for both tables.
    @Test func `an IPv4 gateway is not found in the main table without a rule for that`() throws {
        let host = try Self.host("rule del lookup main")
        #expect(try Self.errno(of: "route add 10.9.0.0/16 via 10.0.0.1 dev eth0", on: host) == 101)
    }

    /// An IPv6 route through the loopback interface rejects packets, and says nothing about a link.
    @Test func `a route through the loopback interface does not refuse a gateway onlink`() throws {
        var host = try Self.host()
        let prefix: IPPrefix = "2001::/16"
        host.insert(Route(destination: prefix, nexthops: [Nexthop(interfaceIndex: 1)]))
        let change = "route add 2001:db8:9::/48 via 2001:db8:99::1 dev eth0 onlink"
        #expect(try Self.errno(of: change, on: host) == 0)
        #expect(try Self.errno(of: "-6 route add default via 2001:db8:1::1 dev eth0 onlink", on: host) == 22)
    }

    /// The loss of a port was predicted as if the bond went on.
    @Test(arguments: ["bond", "team"])
    func `a change of a port of a bond or a team is refused, and one of itself is predicted`(kind: String)
        throws
    {
        var host = try Self.host()
        var link = Link(index: 4, name: "m0", flags: [], operationalState: .down)
        link.kind = kind
        var state = HostState.Interface()
        state.isUp = true
        host.add(link, state)
        host.showState(4)
        host.setMaster(2, 4)
        func message(_ change: String) throws -> String? {
            var host = host
            let change = try HostChange(change)
            do throws(KernelRefusal) {
                try host.make(change)
                return nil
            } catch {
                return error.number == nil ? error.message : ""
            }
        }
        for change in ["link set eth0 down", "carrier eth0 off"] {
            #expect(try message(change)?.contains("eth0 is a port of m0") == true, "\(change)")
        }
        for change in ["link del m0", "link set eth1 master m0", "link set eth0 nomaster"] {
            #expect(try message(change)?.contains(kind) == true, "\(change)")
        }
        for change in ["carrier m0 off", "link set m0 down", "link set eth1 down"] {
            #expect(try message(change) == nil, "\(change)")
        }
        host.setDown(4)
        #expect(try message("link set m0 up")?.contains("whether m0 has a carrier") == true)
    }

    @Test func `changes of a VRF and of its ports are refused`() throws {
        var host = try Self.host()
        var link = Link(index: 4, name: "red", flags: [], operationalState: .down)
        (link.kind, link.vrfTable) = ("vrf", 100)
        host.add(link, HostState.Interface())
        for change in ["link set eth0 master red", "link set red up", "link del red"] {
            #expect(try Self.errno(of: change, on: host) == nil, "\(change)")
        }
    }

    @Test(
        arguments: [
            "route add 2001:db8:9::/48 dev eth0 expires 60", "addr add 10.0.0.9/24 dev eth0 valid_lft 9",
        ])
    func `a lifetime is refused with a reason`(change: String) {
        do throws(KernelRefusal) {
            _ = try HostChange(change)
            Issue.record("no error")
        } catch {
            #expect(error.message.contains("is not predicted, as the answers are those of one moment"))
        }
    }

    @Test func `interfaces that name each other as the one below are removed once`() throws {
        var host = HostState()
        for (index, lower) in [(UInt32(2), UInt32(3)), (3, 2)] {
            var link = Link(index: index, name: "eth\(index - 2)", flags: [], operationalState: .down)
            (link.kind, link.lower) = ("macvlan", lower)
            host.add(link, HostState.Interface())
        }
        try host.make(HostChange("link del eth0"))
        #expect(host.links.map(\.name) == ["lo"])
    }

    @Test(arguments: ["veth", "netkit", "vxcan"])
    func `the other end of a pair is not the interface below`(kind: String) {
        var link = Link(index: 2, name: "a", flags: [], operationalState: .up)
        (link.kind, link.lower) = (kind, 3)
        #expect(link.lowerHere == nil)
    }

    /// It was accepted: only the destination was looked at.
    @Test func `an IPv4 route through an IPv6 gateway needs IPv6 on its interface`() throws {
        let change = "route add 10.9.0.0/16 via inet6 fe80::1 dev eth0"
        #expect(try Self.errno(of: change, on: Self.host()) == 0)
        let host = try Self.host("sysctl net.ipv6.conf.eth0.disable_ipv6=1")
        #expect(try Self.errno(of: change, on: host) == 13)
    }

    /// The refusal named IPv6, which `fib6_nh_init` checks after the gateway.
    @Test func `a gateway that is not on a link is refused before an interface without IPv6`() throws {
        let host = try Self.host("sysctl net.ipv6.conf.eth0.disable_ipv6=1")
        for (change, number) in [
            ("default via 2001:db8:77::1 dev eth0", EHOSTUNREACH), ("default dev eth0", EACCES),
        ] {
            #expect(try Self.errno(of: "-6 route add \(change)", on: host) == number)
        }
    }

    @Test func `secondary addresses go with their primary one, take its place, or are not known to`() throws {
        let changes = try Self.host("addr add 10.0.0.3/24 dev eth0")
        func left(_ promotes: Bool?) throws -> [String]? {
            var host = changes
            host.interfaces[2]?.promotesSecondaries = promotes
            guard (try? host.make(HostChange("addr del 10.0.0.2/24 dev eth0"))) != nil else { return nil }
            return host.snapshot.addresses(ofInterface: 2, family: .v4).map(\.address.description)
        }
        #expect(try left(false) == [])
        #expect(try left(true) == ["10.0.0.3"])
        #expect(try left(nil) == nil)
    }

    /// It stayed as a dead one, and the answer named it where no other nexthop had a carrier.
    @Test func `an IPv6 route loses its nexthop through an interface that is removed`() throws {
        var host = try Self.host(
            "route add 2001:db8:9::/48 nexthop via 2001:db8:0::1 nexthop via 2001:db8:1::1",
            "carrier eth1 off")
        host.removeInterface(2)
        let nexthops = Self.routes(host, to: "2001:db8:9::/48").flatMap(\.nexthops)
        #expect(nexthops.map(\.interfaceIndex) == [3])
    }

    /// The nexthops of the object were compared: `fib_nh_match` compares none.
    @Test func `an interface names no IPv4 route with a nexthop object, and any such IPv6 route`() throws {
        var host = try Self.host()
        let gateway = Nexthop(interfaceIndex: 2, gateway: IPAddress("2001:db8::1"))
        host.apply(.nexthop(NexthopObject(id: 7, kind: .single(gateway))), .nexthop(isLoss: false))
        try host.make(HostChange("route add 10.9.0.0/16 nhid 7"))
        try host.make(HostChange("route add 2001:db8:9::/48 nhid 7"))
        #expect(try Self.errno(of: "route del 10.9.0.0/16 dev eth0", on: host) == 3)
        #expect(try Self.errno(of: "route del 10.9.0.0/16 nhid 7", on: host) == 0)
        #expect(try Self.errno(of: "route del 2001:db8:9::/48 dev eth1", on: host) == 0)
    }

    /// They were alive as soon as the interface was up.
    @Test func `dead IPv6 nexthops live again when their interface is up and has a carrier`() throws {
        var host = try Self.host(
            "route add 2001:db8:9::/48 nexthop via 2001:db8:0::1 nexthop via 2001:db8:1::1",
            "carrier eth0 off", "link set eth0 down", "link set eth0 up")
        func isDead() -> Bool? {
            Self.routes(host, to: "2001:db8:9::/48").first?.nexthops.first?.flags.contains(.dead)
        }
        #expect(isDead() == true)
        try host.make(HostChange("carrier eth0 on"))
        #expect(isDead() == false)
    }

    /// It kept its carrier in recordings: only the kernel's own anycast routes have `RTF_ANYCAST`.
    @Test(arguments: [(Route.bootOrigin, NexthopFlags.linkDown), (Route.kernelOrigin, NexthopFlags())])
    func `an anycast route that a program added loses its carrier`(origin: UInt8, flags: NexthopFlags) throws
    {
        var host = try Self.host()
        host.insert(
            Route(
                destination: "2001:db8:77::/48", type: .anycast, table: Route.mainTable, origin: origin,
                nexthops: [Nexthop(interfaceIndex: 2)]))
        try host.make(HostChange("carrier eth0 off"))
        #expect(Self.routes(host, to: "2001:db8:77::/48").first?.nexthops.first?.flags == flags)
        try host.make(HostChange("carrier eth0 on"))
        #expect(Self.routes(host, to: "2001:db8:77::/48").first?.nexthops.first?.flags == [])
    }

    /// Such routes stayed: they were dead before, and only those that died were dropped.
    @Test func `routes that are ignored without a carrier go when their interface is set down`() throws {
        for (family, prefix) in [(IPAddress.Family.v4, "10.0.0.0/24"), (.v6, "2001:db8::/64")] {
            var host = try Self.host()
            let settings = SettingsReport.ignoring(family, .all, true)
            host.apply(.settings(settings), .settings)
            host.apply(.settings(.ignoring(family, .interface(2), true)), .settings)
            try host.make(HostChange("carrier eth0 off"))
            #expect(Self.routes(host, to: prefix).first?.nexthops.first?.flags.contains(.dead) == true)
            try host.make(HostChange("link set eth0 down"))
            #expect(Self.routes(host, to: prefix).isEmpty)
        }
    }

    /// They stayed, so that a gateway that had failed counted as failed without a carrier too.
    @Test func `neighbours go with the carrier, but for permanent ones, which go with the interface`() throws
    {
        var host = try Self.host()
        let states: [(UInt32, NeighbourState)] = [(1, .failed), (8, .reachable), (9, .permanent)]
        for (last, state) in states {
            for index in [UInt32(2), 3] {
                let address = IPAddress(10, 0, UInt8(index - 2), UInt8(last))
                let neighbour = Neighbour(interfaceIndex: index, address: address, state: state)
                host.apply(.neighbour(neighbour), .settings)
            }
        }
        func left() -> [String]? { host.snapshot.neighbours?.keys.map(\.address.description).sorted() }
        try host.make(HostChange("carrier eth0 off"))
        #expect(left() == ["10.0.0.9", "10.0.1.1", "10.0.1.8", "10.0.1.9"])
        try host.make(HostChange("link set eth0 down"))
        #expect(left() == ["10.0.1.1", "10.0.1.8", "10.0.1.9"])
    }

    /// Its routes of the subnet were those of broadcast +, and another address was refused.
    @Test func `the broadcast address that is given has a route besides the subnet's own`() throws {
        func broadcasts(_ change: String, _ later: String...) throws -> [String] {
            var host = try Self.host()
            for change in [change] + later { try host.make(HostChange(change)) }
            return host.snapshot.routes(ofTable: Route.localTable, .v4).compactMap { route in
                route.type == .broadcast && route.destination.description.hasPrefix("10.9.")
                    ? "\(route.destination.address)" : nil
            }.sorted()
        }
        let own = "addr add 10.9.0.2/24 dev eth0"
        #expect(try broadcasts(own) == ["10.9.0.255"])
        #expect(try broadcasts("\(own) brd +") == ["10.9.0.255"])
        #expect(try broadcasts("\(own) brd -") == ["10.9.0.0", "10.9.0.255"])
        #expect(try broadcasts("\(own) brd 10.9.0.77") == ["10.9.0.255", "10.9.0.77"])
        // `fib_del_ifaddr` keeps the route to the first address of the subnet.
        let second = "addr add 10.9.0.7/24 dev eth0"
        #expect(
            try broadcasts(own, "\(second) brd -", "addr del 10.9.0.7/24 dev eth0")
                == ["10.9.0.0", "10.9.0.255"])
        #expect(
            try broadcasts(
                own, "\(second) brd -", "addr del 10.9.0.7/24 dev eth0", "addr del 10.9.0.2/24 dev eth0")
                == [])
        #expect(
            try broadcasts(own, "\(second) brd 10.9.0.77", "addr del 10.9.0.7/24 dev eth0")
                == ["10.9.0.255"])
        #expect(try broadcasts("\(own) brd 255.255.255.255") == ["10.9.0.255"])
        #expect(try broadcasts("addr add 10.9.0.2/32 brd + dev eth0") == [])
        #expect(try broadcasts("\(own) brd -", "addr del 10.9.0.2/24 dev eth0") == [])
    }

    /// The address was missing: `inetdev_event` gives it where there is none.
    @Test(arguments: [
        (["addr del 127.0.0.1/8 dev lo"], "127.0.0.1"),
        (["addr add 10.9.0.1/32 dev lo", "addr del 127.0.0.1/8 dev lo"], "10.9.0.1"),
    ])
    func `a loopback interface without an IPv4 address gets one when it goes up`(
        changes: [String], address: String
    ) throws {
        var host = try Self.host()
        for change in changes + ["link set lo down", "link set lo up"] { try host.make(HostChange(change)) }
        let addresses = host.snapshot.addresses(ofInterface: 1, family: .v4)
        #expect(addresses.map(\.address.description) == [address])
        let prefix = try #require(IPPrefix("\(address)/32"))
        #expect(host.snapshot.routes(to: prefix, table: Route.localTable).count == 1)
    }

    /// Any MTU was taken.
    @Test func `an mtu above that of the driver or of the interface below is refused`() throws {
        var host = try Self.host()
        host.apply(
            .link(
                LinkReport(
                    Link(
                        index: 9, name: "w0", sizes: PacketSizes(current: 1_500, smallest: 68, largest: 9_000)
                    ))),
            .link(isLoss: false))
        host.apply(
            .link(
                LinkReport(
                    Link(index: 10, name: "w0.7", kind: "vlan", lower: 9, sizes: PacketSizes(current: 1_500)))
            ),
            .link(isLoss: false))
        #expect(try Self.errno(of: "link set w0 mtu 9001", on: host) == EINVAL)
        #expect(try Self.errno(of: "link set w0 mtu 67", on: host) == EINVAL)
        #expect(try Self.errno(of: "link set w0.7 mtu 1501", on: host) == ERANGE)
        try host.make(HostChange("link set w0 mtu 9000"))
        #expect(try Self.errno(of: "link set w0.7 mtu 9000", on: host) == 0)
        try host.make(HostChange("link set w0 mtu 1400"))
        #expect(host.snapshot.links[10]?.sizes.current == 1_400)
    }

    /// An IPv6 flush was predicted, which the kernel ends at the first such route.
    @Test(arguments: ["10.9.0.0/16", "2001:db8:9::/48"])
    func `it is not known what a flush of routes through nexthop objects leaves`(prefix: String) throws {
        var host = try Self.host()
        let gateway = Nexthop(interfaceIndex: 2, gateway: IPAddress("2001:db8::1"))
        host.apply(.nexthop(NexthopObject(id: 1, kind: .single(gateway))), .nexthop(isLoss: false))
        try host.make(HostChange("route add \(prefix) table 100 nhid 1"))
        let option = prefix.contains(":") ? "-6 " : ""
        #expect(try Self.errno(of: "\(option)route flush table 100", on: host) == nil)
    }

    /// The new rule was taken for the one that is there: the kernel makes another table where that one's is made.
    @Test func `it is not known which table a further rule for an empty table gets`() throws {
        var host = try Self.host()
        let rule = Rule(family: .v4, priority: 71, action: .lookup(table: 1))
        host.apply(.rule(rule), .rule)
        #expect(try Self.errno(of: "rule add pref 71 lookup 0", on: host) == nil)
        host.apply(.removedRule(rule), .rule)
        #expect(try Self.errno(of: "rule add pref 71 lookup 0", on: host) == 0)
    }

    /// Such a gateway was refused as one on the loopback interface, which the kernel does not reach.
    @Test func `a gateway behind an anycast route through the loopback interface is not reached`() throws {
        var host = try Self.host()
        host.insert(
            Route(
                destination: "2001:db8:77::/48", type: .anycast, table: Route.localTable,
                origin: Route.bootOrigin,
                nexthops: [Nexthop(interfaceIndex: 1)]))
        #expect(try Self.errno(of: "-6 route add default via 2001:db8:77::1", on: host) == EHOSTUNREACH)
    }
}
