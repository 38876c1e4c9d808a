// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import Glibc
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import Testing

/// Where a socket gets another answer than a plain query.
struct PacketRouteTests {
    private static let group = IPAddress(239, 1, 2, 3)
    private static let remoteV6 = IPAddress(v6High: 0x2001_0db8_0009 << 16, low: 9)
    private static let one = IPAddress(v6High: 0x2001_0db8_0001 << 16, low: 1)
    private static let two = IPAddress(v6High: 0x2001_0db8_0002 << 16, low: 1)
    private static let route = ScriptedRouting.Answer.route(.via(2, gateway: gateway))

    private func network(_ change: (inout ScriptedRouting.Script) -> Void) -> ScriptedRouting {
        var script = ScriptedRouting.Script(interfaces: [.loopback, .eth0, .eth1])
        change(&script)
        return ScriptedRouting(script)
    }

    // MARK: Groups

    /// The table's entry is asked for, which the kernel does not look up for a group from a bound socket.
    @Test(arguments: [group, IPAddress(255, 255, 255, 255)], [RouteRejection.unreachable, .noRoute])
    func `the plain query decides about a group that a bound socket sends to`(
        group: IPAddress, rejection: RouteRejection
    ) throws {
        let local = IPAddress(192, 0, 2, 2)
        let network = network {
            $0.answers = [group: [.rejected(rejection)], local: [.route(.via(2, type: .local))]]
            $0.choices = [group: .route(.via(2, type: .multicast))]
        }
        var options = ReachabilityOptions()
        options.interface = "eth0"
        #expect(try reachability(.address(group), network, options: options).blockingFlags() == direct)
        options.interface = nil
        options.sourceAddress = local
        #expect(try reachability(.address(group), network, options: options).blockingFlags() == direct)
        #expect(try reachability(.address(group), network).blockingFlags().isEmpty)
    }

    @Test func `a rejection that the plain query repeats stands`() throws {
        let network = network { $0.answers = [Self.group: [.rejected(.unreachable)]] }
        var options = ReachabilityOptions()
        options.interface = "eth0"
        let report = try reachability(.address(Self.group), network, options: options).blockingReport()
        #expect(report.flags.isEmpty && report.reason.code == .noRouteOutOfInterface)
    }

    /// Each was taken for a group on the link, and tried on a kernel first.
    @Test(
        arguments: [
            ("0.0.0.0/0", nil), ("224.0.0.0/3", nil), ("224.0.0.0/4", gateway), ("239.0.0.0/8", gateway),
        ] as [(String, IPAddress?)])
    func `an IPv4 group takes the gateway of a route for groups alone`(prefix: String, own: IPAddress?) throws
    {
        let address = InterfaceAddress(interfaceIndex: 2, address: "192.0.2.2", prefixLength: 24)
        let host = makeHost(.address(address), .route(prefix, via: "\(gateway)", dev: 2))
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        var options = ReachabilityOptions()
        options.interface = "eth0"
        let handle = NetworkReachability(target: .address(Self.group), options: options, source: source)
        let report = try handle.blockingReport()
        #expect(report.gateway == own && report.reason.code == (own == nil ? .multicast : .gateway))
        // A socket that is not bound sends from its address, on the link of that.
        let unbound = NetworkReachability(target: .address(Self.group), source: source)
        #expect(try unbound.blockingReport().gateway == nil)
    }

    /// A recording showed a route to the group in the main table, and its rule.
    @Test(arguments: ["224.0.0.5", "255.255.255.255", "239.1.1.1"])
    func `a group that no route matches has no route in a report, as the kernel has none`(group: String)
        throws
    {
        let address = InterfaceAddress(interfaceIndex: 2, address: "192.0.2.2", prefixLength: 24)
        let host = makeHost(.address(address))
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        var options = ReachabilityOptions()
        options.interface = "eth0"
        let target = ReachabilityTarget.address(IPAddress(group) ?? .anyV4)
        let handle = NetworkReachability(target: target, options: options, source: source)
        let report = try handle.blockingReport()
        #expect(report.isReachable && report.interface?.name == "eth0")
        #expect(report.sourceAddress == address.address)
        #expect(report.findings.map(\.route) == [nil] && report.rules?.deciding == nil)
    }

    /// The answer was said to be dropped: no host sends from a group.
    @Test func `no answer comes from a group`() throws {
        let address = InterfaceAddress(interfaceIndex: 2, address: "2001:db8::5", prefixLength: 64)
        let host = makeHost(.address(address), .route("ff0e::/16", via: "2001:db8::1", dev: 2, metric: 1_024))
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let report = try NetworkReachability(target: .address("ff0e::5"), source: source).blockingReport()
        #expect(report.reason.code == .gateway && report.returns == nil)
    }

    /// The reason was that there is no route.
    @Test func `a destination that a program declared local is no source of a socket`() throws {
        let host = makeHost(
            .rule(.v4, 100, .lookup(table: 100)) { $0.mark = Masked(1) },
            .route("0.0.0.0/0", dev: 1) { ($0.type, $0.table, $0.scope) = (.local, 100, .host) })
        var options = ReachabilityOptions()
        options.mark = 1
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let handle = NetworkReachability(target: .address(remote), options: options, source: source)
        let reason = try handle.blockingReport(.brief).reason
        #expect(reason.code == .notOwnAddress && reason.description.contains("\(remote) is not an address"))
    }

    /// It was taken for a source, as an address of an interface.
    @Test(arguments: [false, true])
    func `an IPv4 address without a route in the local table is no source, whatever the rules say`(
        isLocal: Bool
    ) throws {
        let own = IPAddress(192, 0, 2, 5)
        let host = makeHost(
            .address(InterfaceAddress(interfaceIndex: 2, address: own, prefixLength: 24)),
            .rule(.v4, 0, .lookup(table: 100)), .route("192.0.2.5/32", dev: 3) { $0.table = 100 },
            .removedRule(Rule(family: .v4, priority: 0, action: .lookup(table: Route.localTable))),
            .rule(.v4, 100, .lookup(table: Route.localTable)),
            .route("192.0.2.5/32", dev: 2) {
                ($0.type, $0.scope) = (.local, .host)
                $0.table = isLocal ? Route.localTable : 101
            },
            .route("0.0.0.0/0", via: "\(gateway)", dev: 2))
        var options = ReachabilityOptions()
        options.sourceAddress = own
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let handle = NetworkReachability(target: .address(remote), options: options, source: source)
        let reason = try handle.blockingReport(.brief).reason
        #expect(reason.code == (isLocal ? .gateway : .notOwnAddress))
        #expect(isLocal || "\(reason)" == "the source 192.0.2.5 has no route in the local table")
    }

    /// The zone decided alone; connect(2) says EINVAL.
    @Test(arguments: [
        ("eth0", true), ("2", true), ("eth1", false), ("eth9", false), ("fe80::2%eth0", true),
        ("fe80::2%eth1", false),
    ])
    func `a socket that is bound to an interface sends to no link-local address of another one`(
        binding: String, isReached: Bool
    ) throws {
        func own(_ index: UInt32) -> NetworkChange {
            .address(InterfaceAddress(interfaceIndex: index, address: "fe80::2", prefixLength: 64))
        }
        let host = makeHost(own(2), own(3), .route("fe80::/64", dev: 2, metric: 256))
        var options = ReachabilityOptions()
        if let source = IPAddress(binding) {
            options.sourceAddress = source
        } else {
            options.interface = InterfaceReference(nameOrIndex: binding)
        }
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let target = ReachabilityTarget.address(address("fe80::9%eth0"))
        let handle = NetworkReachability(target: target, options: options, source: source)
        let report = try handle.blockingReport(.brief)
        #expect(report.isReachable == isReached)
        if binding.hasSuffix("eth1") { #expect("\(report.reason)" == "no route out of eth1") }
    }

    /// The host has the address: a rule about it as a source is what refuses the packet.
    @Test func `a rule that refuses a packet is the reason before its source`() throws {
        let own = IPAddress(192, 0, 2, 5)
        let source = try #require(IPPrefix(own, length: 32))
        let host = makeHost(
            .removedRule(Rule(family: .v4, priority: 0, action: .lookup(table: Route.localTable))),
            .rule(.v4, 100, .lookup(table: Route.localTable)) { _ in },
            .rule(.v4, 50, .unreachable) { $0.source = source },
            .address(InterfaceAddress(interfaceIndex: 2, address: own, prefixLength: 24)),
            .route("192.0.2.5/32", dev: 2) {
                ($0.type, $0.table, $0.scope) = (.local, Route.localTable, .host)
            })
        let routing = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let report = try NetworkReachability(target: .address(own), source: routing).blockingReport(.brief)
        #expect(report.reason.code == .refusedByRule)
    }

    /// It sends as an unbound one does, and the route of the VRF counted.
    @Test(arguments: [(group, ReachabilityReason.Code.blackhole), (IPAddress(198, 51, 100, 1), .onLink)])
    func `a socket that is bound to a VRF leaves it for groups alone`(
        target: IPAddress, code: ReachabilityReason.Code
    ) throws {
        var vrf = Link(index: 5, name: "red", kind: "vrf")
        vrf.vrfTable = 77
        var rule = Rule(family: .v4, priority: 1_000, action: .lookup(table: 0))
        rule.isL3MDev = true
        var port = Link(index: 2, name: "eth0", portKind: "vrf")
        port.master = 5
        let own = InterfaceAddress(interfaceIndex: 2, address: "192.0.2.2", prefixLength: 24)
        let host = makeHost(
            .link(LinkReport(vrf)), .link(LinkReport(port)), .address(own), .rule(rule),
            .route("0.0.0.0/0", dev: 2) { $0.table = 77 },
            .route("224.0.0.0/3", nexthops: []) { $0.type = .blackhole })
        var options = ReachabilityOptions()
        options.interface = "red"
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let handle = NetworkReachability(target: .address(target), options: options, source: source)
        #expect(try handle.blockingReport(.brief).reason.code == code)
    }

    // MARK: Uplinks

    /// A table for each uplink, and one default route for sockets without a binding.
    @Test func `the second uplink of a recorded host has the route of its own address`() throws {
        let own = InterfaceAddress(interfaceIndex: 3, address: "198.51.100.2", prefixLength: 24)
        let host = makeHost(
            .address(own), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("0.0.0.0/0", via: "198.51.100.1", dev: 3) { $0.table = 100 },
            .rule(.v4, 100, .lookup(table: 100)) { $0.source = IPPrefix("198.51.100.2/32") })
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        var options = ReachabilityOptions()
        for (index, gateway) in [(2, "192.0.2.1"), (3, "198.51.100.1")] as [(UInt32, IPAddress)] {
            options.interface = InterfaceReference(index: index)
            let target = NetworkReachability(
                target: .address("203.0.113.9"), options: options, source: source)
            #expect(try target.blockingReport().gateway == gateway)
        }
    }

    // MARK: Source-specific routes

    private func sourceSpecific(_ sources: [IPAddress], destination: IPAddress) -> ScriptedRouting {
        network {
            $0.sources = sources
            $0.answersBySource = [Self.one: Self.route]
            $0.answers = [destination: [.rejected(.noRoute)]]
        }
    }

    /// The first answer stood: a host whose default route is source-specific reached nothing.
    @Test func `an IPv6 target is asked about again with the source that the kernel selects`() throws {
        let network = sourceSpecific([Self.one], destination: Self.remoteV6)
        let handle = try reachability(.address(Self.remoteV6), network)
        #expect(try handle.blockingFlags() == .reachable)
        #expect(network.queries.map(\.source) == [nil, Self.one])
        let report = try handle.blockingReport()
        #expect(report.sourceAddress == Self.one)
    }

    @Test func `a query with a selected source is asked again from the start where its interface is gone`()
        throws
    {
        let network = network {
            $0.sources = [Self.one]
            $0.answersBySource = [Self.one: Self.route]
            $0.answers = [Self.remoteV6: [.rejected(.noRoute)]]
            $0.absences = [2: 1]
        }
        #expect(try reachability(.address(Self.remoteV6), network).blockingFlags() == .reachable)
        #expect(network.queries.map(\.source) == [nil, Self.one, nil, Self.one])
    }

    /// Between the query about the interface and the one about the route.
    @Test func `a socket whose interface is removed before the route is looked up reaches nothing`() throws {
        let address = IPAddress(198, 51, 100, 1)
        let network = network {
            let gone = ReachabilityError(
                operation: "ask for a route", number: ENODEV, message: "No such device")
            $0.answers = [address: [.error(gone)]]
        }
        var options = ReachabilityOptions()
        options.interface = "eth0"
        let report = try reachability(.address(address), network, options: options).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason == ReachabilityReason(.noInterface, "eth0"))
    }

    /// The address of the interface goes with it: whether a socket can have it cannot be asked about either.
    @Test func `a socket with a source address reaches nothing through an interface that was removed`() throws
    {
        let (address, local) = (IPAddress(198, 51, 100, 1), IPAddress(192, 0, 2, 2))
        let network = network {
            let gone = ReachabilityError(
                operation: "ask for a route", number: ENODEV, message: "No such device")
            $0.answers = [address: [.error(gone)], local: [.error(gone)]]
        }
        var options = ReachabilityOptions()
        (options.interface, options.sourceAddress) = ("eth0", local)
        let report = try reachability(.address(address), network, options: options).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason == ReachabilityReason(.noInterface, "eth0"))
    }

    @Test func `the facts that come with the last answers count`() throws {
        let network = network {
            $0.sources = [Self.one]
            $0.answersBySource = [Self.one: Self.route]
            $0.answers = [Self.remoteV6: [.rejected(.noRoute)]]
            $0.readings = [[.eth0], [.eth0.with { $0.carrier = false }]]
        }
        let report = try reachability(.address(Self.remoteV6), network).blockingReport()
        #expect(report.flags.isEmpty && report.reason.code == .noCarrier)
    }

    @Test func `the default path is asked about with the source for its own address`() throws {
        let network = sourceSpecific([Self.one], destination: probeV6)
        #expect(try reachability(.defaultPath, network).blockingFlags() == .reachable)
        #expect(network.sourceQueries.map(\.destination) == [probeV6])
    }

    @Test func `a bound socket is as strict about its interface with the selected source`() throws {
        let network = sourceSpecific([Self.one], destination: Self.remoteV6)
        var options = ReachabilityOptions()
        options.interface = "eth0"
        #expect(
            try reachability(.address(Self.remoteV6), network, options: options).blockingFlags() == .reachable
        )
        #expect(network.queries.map(\.isStrict) == [false, true])
    }

    @Test func `without a source to select the rejection stands`() throws {
        let network = sourceSpecific([], destination: Self.remoteV6)
        #expect(try reachability(.address(Self.remoteV6), network).blockingReport().reason.code == .noRoute)
        let other = sourceSpecific([Self.two], destination: Self.remoteV6)
        #expect(try reachability(.address(Self.remoteV6), other).blockingReport().reason.code == .noRoute)
    }

    @Test func `a tie between sources with different routes is undecided`() throws {
        let network = sourceSpecific([Self.one, Self.two], destination: Self.remoteV6)
        let handle = try reachability(.address(Self.remoteV6), network)
        let error = #expect(throws: ReachabilityError.self) { try handle.blockingFlags() }
        #expect(error?.code == .undecided)
    }

    @Test func `a source given by the caller is the only one`() throws {
        let network = network {
            $0.sources = [Self.one]
            $0.addresses = [InterfaceAddress(interfaceIndex: 2, address: Self.two, prefixLength: 64)]
            $0.answersBySource = [Self.one: Self.route]
        }
        let target = try ReachabilityTarget.pair(local: Self.two, remote: Self.remoteV6)
        #expect(try reachability(target, network).blockingFlags().isEmpty)
        #expect(network.sourceQueries.isEmpty)
    }

    // MARK: Selected sources of accepted queries

    /// A network of `eth0` with 192.0.2.2/24 and a default route, and no IPv6 address.
    private func home(
        selecting source: IPAddress? = nil,
        _ more: NetworkChange...
    ) throws -> ScriptedRouting {
        var script = ScriptedRouting.Script()
        var chosen = Route.via(2, gateway: gateway)
        chosen.preferredSource = source
        if source != nil { script.choices[remote] = .route(chosen) }
        let network = ScriptedRouting(tables: .twoInterfaces, script)
        let foreign = InterfaceAddress(
            interfaceIndex: 2, address: IPAddress(v6High: 0x2001_0db8 << 32, low: 2), prefixLength: 64)
        network.change { tables in
            for change in [.removedAddress(foreign), .route(.via(2, gateway: gateway), .last)] + more {
                tables.snapshot.apply(change)
            }
        }
        return network
    }

    /// The kernel's second lookup, with the source that it selected, was left out.
    @Test func `a rule about the selected source decides about an IPv4 target`() throws {
        var rule = Rule(family: .v4, priority: 100, action: .prohibit)
        rule.source = IPPrefix("192.0.2.0/24")
        let network = try home(.rule(rule))
        #expect(try reachability(.address(remote), network).blockingReport().reason.code == .refusedByRule)
        #expect(network.queries.map(\.source) == [nil, IPAddress(192, 0, 2, 2)])
        rule.source = IPPrefix("203.0.113.0/24")
        #expect(try reachability(.address(remote), home(.rule(rule))).blockingFlags() == .reachable)
    }

    /// It was asked for a second time.
    @Test func `a source that came with the entry is not asked for`() throws {
        var rule = Rule(family: .v4, priority: 100, action: .prohibit)
        let own = IPAddress(192, 0, 2, 2)
        rule.source = IPPrefix(own, length: 32)
        let network = try home(selecting: own, .rule(rule))
        let handle = try reachability(.address(remote), network)
        #expect(try handle.blockingReport().reason.code == .refusedByRule)
        #expect(network.queries.map(\.source) == [nil, own])
        #expect(network.sourceQueries.isEmpty)
        #expect(try handle.blockingFlags().isEmpty)
        #expect(network.sourceQueries.isEmpty)
    }

    @Test func `without such a rule one lookup decides about an IPv4 target`() throws {
        let network = try home()
        #expect(try reachability(.address(remote), network).blockingFlags() == .reachable)
        #expect(network.queries.map(\.source) == [nil])
    }

    /// The source of a local destination is the destination, and no interface has it.
    @Test func `a local route of an administrator's table makes no address of this host`() throws {
        let network = try home(
            .rule(Rule(family: .v4, priority: 100, action: .lookup(table: 100))),
            .route(
                Route(destination: .allV4, type: .local, table: 100, nexthops: [Nexthop(interfaceIndex: 2)]),
                .last)
        )
        #expect(try reachability(.address(remote), network).blockingFlags().isEmpty)
    }

    /// The route was enough.
    @Test(arguments: ["ff02::fb%eth0", "ff0e::1"])
    func `a group that no IPv6 address can send to is not reachable`(text: String) throws {
        let groups = Route(
            destination: IPPrefix("ff00::/8"), type: .multicast, table: Route.localTable,
            nexthops: [Nexthop(interfaceIndex: 2)])
        let network = try home(.route(groups, .last))
        let handle = try reachability(.address(address(text)), network)
        #expect(try handle.blockingReport().reason.code == .noSourceAddress)
        let own = InterfaceAddress(
            interfaceIndex: 2, address: IPAddress(v6High: 0xfe80 << 48, low: 2), prefixLength: 64,
            scope: .link)
        network.change { $0.snapshot.apply(.address(own)) }
        #expect(try handle.blockingFlags() == direct)
    }

    // MARK: Reasons and flows

    /// The family without a default route gave the reason.
    @Test func `the family whose default route has no carrier gives the reason of the default path`() throws {
        let dead = Nexthop(interfaceIndex: 2, gateway: gateway, flags: [.dead, .linkDown])
        let network = network { $0.answers = [probeV6: [.route(.nexthops([dead]))]] }
        #expect(try reachability(.defaultPath, network).blockingReport().reason.code == .noCarrier)
        let source = NetworkSource(routing: network, resolver: ScriptedResolver())
        #expect(try source.blockingValue(of: .path()).reason.code == .noCarrier)
    }

    @Test func `the flow of the options is part of the query`() throws {
        let network = network { _ in }
        var options = ReachabilityOptions()
        options.mark = 7
        options.user = 1_000
        options.ipProtocol = 6
        options.sourcePort = 1_024
        options.destinationPort = 443
        options.typeOfService = 0x10
        _ = try reachability(.address(remote), network, options: options).blockingFlags()
        var query = RouteQuery(destination: remote, mark: 7)
        query.user = 1_000
        query.ipProtocol = 6
        query.sourcePort = 1_024
        query.destinationPort = 443
        query.typeOfService = 0x10
        #expect(network.queries == [query])
    }

    /// The number was read as an index alone.
    @Test func `an interface's name comes before an index`() throws {
        let numbered = InterfaceFacts(link: Link(index: 9, name: "3"))
        let network = network { $0.interfaces.append(numbered) }
        _ = try reachability(.address(address("198.51.100.7%3")), network).blockingFlags()
        _ = try reachability(.address(address("198.51.100.7%2")), network).blockingFlags()
        #expect(network.queries.map(\.outputInterface) == [9, 2])
    }

    @Test func `a reference is a name, an index, or what a user writes for one of them`() throws {
        let numbered = InterfaceFacts(link: Link(index: 9, name: "3"))
        let third = InterfaceFacts(link: Link(index: 3, name: "eth3"))
        let network = network { $0.interfaces += [numbered, third] }
        let references: [InterfaceReference] = [
            "3", InterfaceReference(index: 3), InterfaceReference(nameOrIndex: "3"),
            InterfaceReference(nameOrIndex: "9"),
        ]
        for reference in references {
            var options = ReachabilityOptions()
            options.interface = reference
            _ = try reachability(.address(address("198.51.100.7")), network, options: options).blockingFlags()
        }
        #expect(network.queries.map(\.outputInterface) == [9, 3, 9, 9])
        var options = ReachabilityOptions()
        options.interface = "9"
        let report = try reachability(.address(address("198.51.100.7")), network, options: options)
            .blockingReport()
        #expect(report.reason.code == .noInterface)
    }
}
