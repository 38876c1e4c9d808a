// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The route of a packet as a table: what is known, and the route or what is missing.
struct PacketTests {
    private static let targetV6 = IPAddress(v6High: 0x2001_0db8_0009 << 16, low: 9)
    private static let one = IPAddress(v6High: 0x2001_0db8_0001 << 16, low: 1)
    private static let two = IPAddress(v6High: 0x2001_0db8_0002 << 16, low: 1)
    private static let own = IPAddress(192, 0, 2, 2)
    private static let error = ReachabilityError(operation: "ask", number: 105)

    /// A rule that compares the source makes an IPv4 answer depend on it.
    private static func answer(
        _ index: UInt32 = 2,
        from source: IPAddress? = nil,
        dependsOnSource: Bool = false
    ) -> RouteAnswer {
        RouteAnswer.taken(RouteMatch(.unicast, Nexthop(interfaceIndex: index))).with {
            ($0.source, $0.dependsOnSource) = (source, dependsOnSource)
        }
    }

    /// What is missing in each round, and at the end the route, in words.
    private static func walk(_ packet: Packet, _ answers: ScriptedAnswers = ScriptedAnswers()) -> [String] {
        answers.walk { (known) throws(Interruption) in try packet.route(&known) }.map(words)
    }

    private static func words(_ step: ScriptedAnswers.Step<PacketRoute>) -> String {
        switch step {
        case .missing(let words): return words.joined(separator: ", ")
        case .value(let result): return self.words(result)
        }
    }

    private static func words(_ result: Result<PacketRoute, ReachabilityError>) -> String {
        switch result {
        case .failure(let error): return "failed \(error.number)"
        case .success(let route):
            switch route.outcome {
            case .unreachable(let reason): return "unreachable \(reason.code)"
            case .answered(let answer):
                let nexthops = answer.nexthops.map { "\($0.interfaceIndex)" }.joined(separator: " ")
                let outer = route.outer.map { " in \($0.value.destination)" } ?? ""
                return "from \(route.query.source?.description ?? "-") through \(nexthops)\(outer)"
            }
        }
    }

    private static func packet(_ destination: IPAddress, from source: IPAddress? = nil) -> Packet {
        Packet(.address(destination), .flags, RouteQuery(destination: destination, source: source))
    }

    // MARK: Sources

    @Test(
        arguments: [
            (remote, nil, .success(answer(from: own)), ["interface 2", "from - through 2"]),
            (remote, own, .success(answer(from: own)), ["interface 2", "from 192.0.2.2 through 2"]),
            (remote, nil, .success(.rejected(.noRoute)), ["from - through "]),
            (remote, nil, .failure(error), ["failed 105"]),
            (
                remote, nil, .success(answer(from: own, dependsOnSource: true)),
                ["route to 198.51.100.7 from 192.0.2.2", "from 192.0.2.2 through "]
            ),
            (
                remote, nil, .success(answer(dependsOnSource: true)),
                ["sources for 198.51.100.7", "interface 2", "from - through 2"]
            ),
            // No address can be the source: the first answer stands.
            (
                remote, nil, .success(answer(from: .anyV4, dependsOnSource: true)),
                ["interface 2", "from - through 2"]
            ),
            // A rejection is the last word in IPv4 alone.
            (
                targetV6, nil, .success(.rejected(.noRoute)),
                ["sources for 2001:db8:9::9", "from - through "]
            ),
            // IPv6 keeps an accepted route, and needs an address.
            (
                targetV6, nil, .success(answer(from: one, dependsOnSource: true)),
                ["interface 2", "from - through 2"]
            ),
            (targetV6, nil, .success(answer(from: .anyV6, dependsOnSource: true)), ["from - through "]),
        ] as [(IPAddress, IPAddress?, RoutingResult, [String])])
    func `what follows from the route of a packet`(
        destination: IPAddress, source: IPAddress?, result: RoutingResult, next: [String]
    ) {
        let packet = Self.packet(destination, from: source)
        let first = "route to \(destination)" + (source.map { " from \($0)" } ?? "")
        #expect(Self.walk(packet, ScriptedAnswers(bySource: [source: result])) == [first] + next)
    }

    @Test(
        arguments: [
            ([], ["from - through "]),
            (
                [.success(answer())],
                ["route to 2001:db8:9::9 from 2001:db8:1::1", "interface 2", "from 2001:db8:1::1 through 2"]
            ),
            (
                [.success(answer()), .success(answer())],
                [
                    "route to 2001:db8:9::9 from 2001:db8:1::1, route to 2001:db8:9::9 from 2001:db8:2::1",
                    "interface 2", "from - through 2",
                ]
            ),
            (
                [.success(.rejected(.prohibited))],
                ["route to 2001:db8:9::9 from 2001:db8:1::1", "from - through "]
            ),
            // The sources take different routes.
            (
                [.success(answer(2)), .success(answer(3))],
                [
                    "route to 2001:db8:9::9 from 2001:db8:1::1, route to 2001:db8:9::9 from 2001:db8:2::1",
                    "failed 0",
                ]
            ),
        ] as [([RoutingResult], [String])])
    func `what follows from the addresses that an IPv6 packet without a route can have`(
        routes: [RoutingResult], next: [String]
    ) {
        var answers = ScriptedAnswers(sources: Array([Self.one, Self.two].prefix(routes.count)))
        for (source, route) in zip(answers.sources, routes) { answers.bySource[source] = route }
        #expect(
            Self.walk(Self.packet(Self.targetV6), answers)
                == ["route to 2001:db8:9::9", "sources for 2001:db8:9::9"] + next)
    }

    @Test func `the nexthops of several IPv4 sources are judged together`() {
        let answers = ScriptedAnswers(
            bySource: [
                nil: .success(Self.answer(dependsOnSource: true)), Self.own: .success(Self.answer(2)),
                gateway: .success(Self.answer(3)),
            ],
            sources: [Self.own, gateway])
        #expect(Self.walk(Self.packet(remote), answers).last == "from - through 2 3")
    }

    // MARK: Several nexthops

    private static let hash = "hash of nexthops of IPv4"
    private static let fromOwn = "route to 198.51.100.7 from 192.0.2.2"

    /// The flags had been those of the best nexthop, which none of the packets took.
    @Test(
        arguments: [
            (.addresses, false, [hash, fromOwn, "interface 2", "from 192.0.2.2 through 2"]),
            (.innerAddresses, false, [hash, fromOwn, "interface 2", "from 192.0.2.2 through 2"]),
            (.init(rawValue: 1), false, [hash, "interface 2, interface 3", "from - through 2 3"]),
            (.init(rawValue: 1), true, [hash, fromOwn, "interface 2", "from 192.0.2.2 through 2"]),
            // A recording does not hold it.
            (nil, true, [hash, "interface 2, interface 3", "from - through 2 3"]),
        ] as [(MultipathHashPolicy?, Bool, [String])])
    func `which of several nexthops the packets to an address take`(
        policy: MultipathHashPolicy?, hasPorts: Bool, next: [String]
    ) {
        var answers = ScriptedAnswers(policy: policy)
        let entry = RouteMatch(.unicast, [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        for source in [nil, Self.own] { answers.bySource[source] = .success(.taken(entry)) }
        // The hash is of both addresses: it chooses again from the source that the first choice gives.
        answers.choices = [
            nil: .success(Self.answer(3, from: Self.own)),
            Self.own: .success(Self.answer(2, from: Self.own)),
        ]
        var query = RouteQuery(destination: remote)
        if hasPorts { (query.sourcePort, query.destinationPort) = (40_000, 443) }
        let walk = Self.walk(Packet(.address(remote), .flags, query), answers)
        #expect(walk == ["route to 198.51.100.7"] + next)
        // The default path stands for many addresses.
        let path = Packet(Candidate(destination: remote, isDefaultPath: true), .flags, query)
        #expect(Self.walk(path, answers).last == "from - through 2 3")
    }

    /// The flags had been those from the source of one nexthop, and other connections have another source.
    @Test(
        arguments: [
            (.addresses, "from 192.0.2.2 through 2"), (.init(rawValue: 1), "from - through 2 3"),
            (nil, "from 192.0.2.2 through 2"),
        ] as [(MultipathHashPolicy?, String)])
    func `the sources of several nexthops are each looked up if connections use different ones`(
        policy: MultipathHashPolicy?, end: String
    ) throws {
        var answers = ScriptedAnswers(policy: policy, sources: [Self.own, gateway])
        let entry = RouteMatch(.unicast, [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        answers.bySource[nil] = .success(
            RouteAnswer.taken(entry).with { ($0.source, $0.dependsOnSource) = (Self.own, true) })
        (answers.bySource[Self.own], answers.bySource[gateway]) = (
            .success(Self.answer(2)), .success(Self.answer(3))
        )
        answers.choices = [nil: .success(Self.answer(2, from: Self.own, dependsOnSource: true))]
        let packet = Self.packet(remote)
        #expect(Self.walk(packet, answers).last == end)
        let route = answers.walk { (known) throws(Interruption) in try packet.route(&known) }.last
        guard case .value(.success(let route)) = route, case .answered(let answer) = route.outcome else {
            Issue.record("the packet has no route")
            return
        }
        #expect(!answer.isNexthopUndecided)
    }

    /// All packets of a gre had been those of the nexthop that the kernel chooses for the remote end.
    @Test(arguments: [
        ("gre", "from - through 2 3"), ("ipip", "from - through 2 3"), ("sit", "from - through 2"),
    ])
    func `the hash for a tunnel's nexthops can cover the inner packet`(kind: String, end: String) {
        var answers = ScriptedAnswers(policy: .addresses)
        let entry = RouteMatch(.unicast, [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        answers.bySource[nil] = .success(.taken(entry))
        answers.choices = [nil: .success(Self.answer(2))]
        var (tunnel, ends) = (Link(index: 4, name: "t4"), TunnelEnds())
        ends.remote = remote
        (tunnel.kind, tunnel.tunnel) = (kind, Box(ends))
        let inner = InnerPackets(RouteQuery(destination: gateway), .flags)
        let route = answers.walk { [tunnel] (known) throws(Interruption) in
            guard let outer = try known.exactCarrier(of: tunnel, inner) else { throw .missing }
            return try outer.packet.route(&known)
        }
        #expect(route.map(Self.words).last == end)
    }

    /// The flags had been those of the nexthop that the kernel chooses for a packet without ports.
    @Test(
        arguments: [
            (.addresses, [2], "from 127.0.0.1 through "), (.init(rawValue: 1), [2], "failed 0"),
            (.init(rawValue: 3), [3], "failed 0"), (.init(rawValue: 1), [], "from 127.0.0.1 through "),
        ] as [(MultipathHashPolicy, [UInt32], String)])
    func `a loopback source is undecided where some of several nexthops refuse it, and the hash is not known`(
        policy: MultipathHashPolicy, open: [UInt32], end: String
    ) {
        var answers = ScriptedAnswers(policy: policy)
        let entry = RouteMatch(.unicast, [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        answers.bySource = [nil: .success(.taken(entry)), .loopbackV4: .success(.rejected(.blackhole))]
        for index in [2, 3] as [UInt32] {
            answers.byInterface[index] = .success(
                open.contains(index) ? Self.answer(index) : .rejected(.blackhole))
        }
        #expect(Self.walk(Self.packet(remote, from: .loopbackV4), answers).last == end)
    }

    /// The hash covers no nexthop of an interface that is down: the flags were undecided.
    @Test(arguments: [(false, "from 127.0.0.1 through "), (true, "failed 0")])
    func `a nexthop of an interface that is down decides nothing about a loopback source`(
        isUp: Bool, end: String
    ) {
        var answers = ScriptedAnswers(policy: .init(rawValue: 1))
        answers.interfaces[0].flags = isUp ? .up : []
        let entry = RouteMatch(
            .unicast, [Nexthop(interfaceIndex: 2, flags: .dead), Nexthop(interfaceIndex: 3)])
        answers.bySource = [nil: .success(.taken(entry)), .loopbackV4: .success(.rejected(.blackhole))]
        answers.byInterface = [2: .success(Self.answer(2)), 3: .success(.rejected(.blackhole))]
        #expect(Self.walk(Self.packet(remote, from: .loopbackV4), answers).last == end)
    }

    // MARK: Encapsulation

    @Test(
        arguments: [
            (nil, ["from - through 2"]),
            (
                Encapsulation(.seg6, to: "2001:db8:9::9"),
                ["addresses", "route to 2001:db8:9::9", "from - through 2 in 2001:db8:9::9"]
            ),
            (Encapsulation(.ip, to: "203.0.113.9"), ["route to 203.0.113.9", "failed 0"]),
            (Encapsulation(.mpls), ["from - through 2"]),
            // It is not shown where such packets go.
            (Encapsulation(.seg6), ["failed 0"]),
        ] as [(Encapsulation?, [String])])
    func `what follows from a route that encapsulates`(encapsulation: Encapsulation?, next: [String]) {
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: encapsulation)
        let plain = RouteAnswer.taken(RouteMatch(.unicast, Nexthop(interfaceIndex: 2)))
        // Every packet without a source has the route of the inner one, also the outer one.
        let isFollowed = encapsulation?.kind == .seg6
        let answers = ScriptedAnswers(
            bySource: [
                nil: .success(.taken(RouteMatch(.unicast, nexthop))), Self.one: .success(plain),
            ],
            own: isFollowed
                ? [InterfaceAddress(interfaceIndex: 2, address: Self.one, prefixLength: 64)] : [])
        let walk = Self.walk(Self.packet(remote), answers)
        #expect(Array(walk.prefix(2)) == ["route to 198.51.100.7", "interface 2"])
        #expect(walk.dropFirst(2).map { $0.replacing(" from 2001:db8:1::1", with: "") } == next)
    }

    // MARK: Interfaces

    @Test func `a packet whose interfaces are all gone is asked about again once`() {
        let answers = ScriptedAnswers(bySource: [nil: .success(Self.answer())], interfaces: [])
        #expect(
            Self.walk(Self.packet(remote), answers) == [
                "route to 198.51.100.7", "interface 2", "all that was read", "route to 198.51.100.7",
                "interface 2",
                "from - through 2",
            ])
    }

    /// They began again one after the other, and the last one of a batch did not end.
    @Test func `packets of a batch whose interfaces are all gone begin again together`() {
        let answers = ScriptedAnswers(bySource: [nil: .success(Self.answer())], interfaces: [])
        let targets = (0..<NetworkFacts.batchLimit).map { IPAddress(10, 0, 0, UInt8($0)) }
        let flags = answers.facts.values(of: targets) { (address, known) throws(Interruption) in
            try known.flags(of: .address(address), ReachabilityOptions())
        }
        #expect(flags.allSatisfy { $0.answer?.isEmpty == true })
    }

    @Test func `an item with many queries finds each of them again`() {
        let answers = ScriptedAnswers(bySource: [nil: .success(Self.answer())])
        let targets = (0..<200).map { IPAddress(10, 0, 0, UInt8($0)) }
        let steps = answers.walk { (known) throws(Interruption) in
            try known.values(of: targets + targets.reversed()) { (address, known) throws(Interruption) in
                try Self.packet(address).route(&known).query.destination
            }
        }
        guard case .value(.success(let found))? = steps.last else {
            Issue.record("\(steps)")
            return
        }
        #expect(found == targets + targets.reversed() && steps.count == 3)
    }

    /// The setting for all interfaces was not read.
    @Test(arguments: [
        (false, false, "unreachable noRouteOutOfInterface"), (true, false, "from - through 2"),
        (false, true, "from - through 2"),
    ])
    func `a bound socket reaches loopback addresses behind an interface with route_localnet`(
        routesLoopback: Bool, all: Bool, end: String
    ) {
        var link = Link(index: 2, name: "eth2")
        link.settings.routesLoopback = routesLoopback
        var answers = ScriptedAnswers(bySource: [nil: .success(Self.answer())], interfaces: [link])
        answers.settings = InputSettings(
            own: link.settings, all: RoutingSettings(routesLoopback: all))
        let packet = Packet(
            .address(IPAddress(127, 1, 2, 3)), from: nil, ReachabilityOptions(), .flags, boundTo: 2)
        #expect(Self.walk(packet, answers).last == end)
    }

    /// The first thing that is missing.
    private static func first(
        _ destination: IPAddress, from local: IPAddress? = nil, on interface: InterfaceReference? = nil,
        boundTo index: UInt32? = nil
    ) -> String? {
        var options = ReachabilityOptions()
        options.interface = interface
        return walk(Packet(.address(destination), from: local, options, .flags, boundTo: index)).first
    }

    @Test func `what a packet of a socket needs first`() {
        let linkLocal = IPAddress(v6High: 0xfe80 << 48, low: 9)
        var zoned = linkLocal
        zoned.zone = ZoneIdentifier(name: "eth1")
        #expect(Self.first(remote) == "route to 198.51.100.7")
        #expect(
            Self.first(remote, from: Self.own) == "route to 192.0.2.2, route to 198.51.100.7 from 192.0.2.2")
        #expect(Self.first(Self.targetV6, from: Self.one) == "addresses")
        #expect(Self.first(remote, on: "eth0") == "index of eth0")
        #expect(Self.first(zoned) == "index of eth1")
        #expect(Self.first(zoned, on: "eth0") == "index of eth1")
        #expect(Self.first(linkLocal) == "unreachable needsInterface")
        // bind(2) refuses a link-local source without an interface, whatever the destination.
        #expect(Self.first(Self.targetV6, from: linkLocal) == "unreachable needsInterface")
        #expect(Self.first(Self.targetV6, from: zoned) == "index of eth1")
        // A connected socket has its source already.
        var accepted = Packet(
            .address(Self.targetV6), from: linkLocal, ReachabilityOptions(), .flags, boundTo: 0)
        accepted.isConnected = true
        #expect(Self.walk(accepted).first != "unreachable needsInterface")
        #expect(Self.first(Self.targetV6, from: linkLocal, on: "eth0") == "index of eth0")
        // A socket is bound to an index, whatever its addresses and options say.
        #expect(Self.first(zoned, on: "eth0", boundTo: 7) == "interface 7")
        #expect(Self.first(remote, on: "eth0", boundTo: 0) == "route to 198.51.100.7")
    }
}
