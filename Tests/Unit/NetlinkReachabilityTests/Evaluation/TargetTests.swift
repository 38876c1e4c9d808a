// SPDX-License-Identifier: Apache-2.0

import Fakes
import Glibc
import NetlinkReachability
import RoutingModel
import Testing

/// Names, several addresses, sources and errors: from a target to its evaluation.
struct TargetTests {
    private static let first = IPAddress(198, 51, 100, 1)
    private static let second = IPAddress(198, 51, 100, 2)
    private static let third = IPAddress(v6High: 0x2001_0db8 << 32, low: 3)
    private static let interfaces: [InterfaceFacts] = [
        .loopback, .eth0, .eth1, .tunnel,
        InterfaceFacts(link: Link(index: 5, name: "dormant0", operationalState: .dormant)),
    ]

    private func handle(
        _ answers: [IPAddress: [ScriptedRouting.Answer]],
        resolving resolution: ReachabilityTarget.Resolution = .addresses([first, second, third]),
        options: ReachabilityOptions = ReachabilityOptions()
    ) throws -> (NetworkReachability, ScriptedRouting, ScriptedResolver) {
        let network = ScriptedRouting(.init(answers: answers, interfaces: Self.interfaces))
        let resolver = ScriptedResolver(["host.example": resolution])
        let handle = try reachability(.host("host.example"), network, resolver: resolver, options: options)
        return (handle, network, resolver)
    }

    // MARK: Several addresses

    @Test func `the best address gives all flags`() throws {
        let (handle, _, _) = try handle([
            Self.first: [.route(.via(5))], Self.second: [.route(.via(2, gateway: gateway))],
            Self.third: [.route(.via(4))],
        ])
        #expect(try handle.blockingFlags() == .reachable)
        #expect(try handle.blockingReport().address == Self.second)
    }

    @Test func `flags of different addresses are never mixed`() throws {
        let (handle, _, _) = try handle([
            Self.first: [.route(.via(5))], Self.third: [.route(.via(5, gateway: gateway))],
        ])
        #expect(try handle.blockingFlags() == [.reachable, .connectionRequired, .isDirect])
    }

    @Test func `ties keep the resolver's order`() throws {
        for order in [[Self.first, Self.third], [Self.third, Self.first]] {
            let (handle, _, _) = try handle(
                [Self.first: [.route(.via(2))], Self.third: [.route(.via(4))]],
                resolving: .addresses(order)
            )
            #expect(try handle.blockingReport().address == order[0])
        }
    }

    @Test func `when nothing is reachable, the first address gives the reason`() throws {
        let (handle, _, _) = try handle([Self.first: [.rejected(.prohibited)]])
        let report = try handle.blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.code == .prohibited)
        #expect(report.findings.map(\.reason.code) == [.prohibited, .noRoute, .noRoute])
    }

    @Test func `the addresses of a name are asked about together, and a report has all of them`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [Self.first: [.route(.via(2))]]
        let (handle, network, _) = try handle(answers)
        #expect(try handle.blockingFlags() == direct)
        #expect(network.queries.map(\.destination) == [Self.first, Self.second, Self.third])
        let report = try handle.blockingReport()
        #expect(report.findings.map(\.address) == [Self.first, Self.second, Self.third])
        #expect(report.findings.map(\.kernelError) == [nil, 101, 101])
    }

    @Test func `mapped addresses of a name are IPv4`() throws {
        let (handle, network, _) = try handle([:], resolving: .addresses([address("::ffff:198.51.100.1")]))
        _ = try handle.blockingFlags()
        #expect(network.queries.map(\.destination) == [Self.first])
    }

    /// Hosts files and filters of name servers make names answer with it; it was the default path.
    @Test(arguments: [
        (IPAddress.anyV4, IPAddress.loopbackV4), (address("::"), .loopbackV6),
        (address("::ffff:0.0.0.0"), .loopbackV4),
    ])
    func `a zero address of a name is the loopback address, as for connect(2)`(
        zero: IPAddress, loopback: IPAddress
    ) throws {
        let local = Route(
            destination: IPPrefix(loopback, length: loopback.family.bitWidth) ?? .allV4, type: .local,
            nexthops: [Nexthop(interfaceIndex: 1)])
        let (handle, network, _) = try handle(
            [loopback: [.route(local)]], resolving: .addresses([zero]))
        #expect(try handle.blockingFlags() == [.reachable, .isLocalAddress, .isDirect])
        #expect(network.queries.map(\.destination) == [loopback])
    }

    // MARK: Names without addresses

    @Test(
        arguments: [
            (.notFound, .nameNotFound), (.failed("server failure"), .nameNotResolved),
            (.timedOut, .nameTimedOut),
        ] as [(ReachabilityTarget.Resolution, ReachabilityReason.Code)]
    )
    func `a name without addresses is 0 and says why`(
        resolution: ReachabilityTarget.Resolution, code: ReachabilityReason.Code
    ) throws {
        let (handle, _, _) = try handle([lowerProbe: [.route(.via(2))]], resolving: resolution)
        #expect(try handle.blockingFlags().isEmpty)
        let report = try handle.blockingReport()
        #expect(report.reason.code == code)
        #expect(report.reason.description.contains("host.example"))
        #expect(report.address == nil && report.findings.isEmpty)
    }

    @Test(arguments: [ReachabilityTarget.Resolution.notFound, .failed("server failure"), .timedOut])
    func `where the default path needs a connection, its flags are taken`(
        resolution: ReachabilityTarget.Resolution
    ) throws {
        let (handle, _, _) = try handle(
            [lowerProbe: [.route(.via(5, gateway: gateway))]], resolving: resolution)
        #expect(try handle.blockingFlags() == [.reachable, .connectionRequired])
        let report = try handle.blockingReport()
        #expect(report.reason.code == .dormant)
        #expect(report.flags == [.reachable, .connectionRequired])
    }

    @Test func `timeout and families of the options reach the resolver`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        options.resolution.timeout = .milliseconds(250)
        let (handle, _, resolver) = try handle([:], options: options)
        _ = try handle.blockingFlags()
        #expect(
            resolver.queries == [.init("host.example", families: .v6, timeout: .milliseconds(250))]
        )
    }

    @Test(arguments: [
        "192.0.2.1", "127.1", "::1", "fe80::1%eth0", "0.0.0.0", "::ffff:192.0.2.1", "2130706433",
    ]) func `a numeric literal never touches the resolver`(text: String) throws {
        let resolver = ScriptedResolver(error: ReachabilityError(operation: "resolve a name"))
        let network = ScriptedRouting(.init(interfaces: Self.interfaces))
        let handle = try reachability(.host(text), network, resolver: resolver)
        _ = try handle.blockingFlags()
        _ = try handle.blockingReport()
        #expect(resolver.queries.isEmpty)
    }

    // MARK: Families

    @Test func `addresses of excluded families are left out`() throws {
        for (families, expected) in [
            (ReachabilityOptions.Families.v4, [Self.first, Self.second]), (.v6, [Self.third]),
            (.all, [Self.first, Self.second, Self.third]), ([], []),
        ] {
            var options = ReachabilityOptions()
            options.families = families
            let (handle, network, _) = try handle([:], options: options)
            let report = try handle.blockingReport()
            #expect(network.queries.map(\.destination) == expected)
            #expect(report.reason.code == (expected.isEmpty ? .excludedFamily : .noRoute))
        }
    }

    @Test func `the family that is missing is named`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        let network = ScriptedRouting()
        let report = try reachability(.address(remote), network, options: options).blockingReport()
        #expect(report.reason.description == "no IPv6 address")
        #expect(network.queries.isEmpty)
    }

    @Test func `the default path of one family asks one probe`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        let network = ScriptedRouting()
        _ = try reachability(.defaultPath, network, options: options).blockingFlags()
        #expect(network.queries.map(\.destination) == [probeV6])
    }

    // MARK: A report's details

    @Test func `a report names route, interface, gateway and source`() throws {
        let route = Route.via(2, gateway: gateway)
        let chosen = Route(
            destination: .allV4, nexthops: route.nexthops, preferredSource: IPAddress(192, 0, 2, 2))
        let network = ScriptedRouting(
            .init(
                answers: [remote: [.route(route)]],
                choices: [remote: .route(chosen)],
                interfaces: Self.interfaces
            )
        )
        let report = try reachability(.address(remote), network).blockingReport()
        #expect(report.route == NetworkRoute(route) { $0 == 2 ? "eth0" : nil })
        #expect(report.gateway == gateway)
        #expect(report.interface == NetworkInterface(index: 2, name: "eth0", type: .wiredEthernet))
        #expect(report.sourceAddress == IPAddress(192, 0, 2, 2))
        #expect(report.isReachable)
        #expect(report.findings.map(\.interfaceState?.operationalState) == ["up"])
        #expect(network.choiceQueries == [RouteQuery(destination: remote)])
    }

    @Test func `the kernel's choice of the source comes before the route's own`() throws {
        var route = Route.via(2)
        route.preferredSource = IPAddress(192, 0, 2, 9)
        var chosen = route
        chosen.preferredSource = IPAddress(192, 0, 2, 10)
        let network = ScriptedRouting(
            .init(
                answers: [remote: [.route(route)]],
                choices: [remote: .route(chosen)],
                interfaces: Self.interfaces
            )
        )
        #expect(
            try reachability(.address(remote), network).blockingReport().sourceAddress
                == IPAddress(192, 0, 2, 10))
    }

    @Test func `an unreachable target has no source`() throws {
        let report = try reachability(.address(remote), ScriptedRouting()).blockingReport()
        #expect(report.sourceAddress == nil && report.interface == nil && report.gateway == nil)
        #expect(report.findings.map(\.kernelError) == [101])
    }

    // MARK: What connect(2) gives

    @Test(arguments: [
        (
            ConnectOutcome.connects(from: gateway),
            ReachabilityReport.ConnectResult.connects(from: gateway), ReachabilityReason.Code.gateway
        ),
        (.refused(RouteRejection(rawValue: EPERM)), .refused(errno: EPERM), .socketRefused),
        // The route was there a moment before.
        (.refused(.noRoute), .refused(errno: ENETUNREACH), .gateway),
    ])
    func `what connect gives is a fact beside the flags, and can be the reason`(
        outcome: ConnectOutcome,
        result: ReachabilityReport.ConnectResult,
        code: ReachabilityReason.Code
    ) throws {
        var script = ScriptedRouting.Script(
            answers: [remote: [.route(.via(2, gateway: gateway))]], interfaces: Self.interfaces)
        script.connections = [remote: outcome]
        let network = ScriptedRouting(script)
        let handle = try reachability(.address(remote), network)
        let brief = try handle.blockingReport(.brief)
        #expect(brief.connectResult == nil && network.connectQueries.isEmpty)
        let report = try handle.blockingReport()
        #expect(report.connectResult == result && report.flags == brief.flags)
        #expect(report.reason.code == code && brief.reason.code == .gateway)
        #expect(network.connectQueries == [RouteQuery(destination: remote)])
    }

    /// A socket was connected to it all the same.
    @Test func `connect is not asked about an address that nothing is sent to`() throws {
        let network = ScriptedRouting(.init(interfaces: Self.interfaces))
        let report = try reachability(.address(address("fe80::1")), network).blockingReport()
        #expect(report.reason.code == .needsInterface && network.connectQueries.isEmpty)
    }

    @Test func `a refusal is described with what can be its cause`() {
        let refusal = ReachabilityReport.ConnectResult.refused
        #expect(refusal(EPERM).description.contains("EPERM: an IPsec policy with the action block"))
        #expect(refusal(EACCES).description.contains("EACCES: a route or rule of type prohibit"))
        #expect(refusal(ENETDOWN).description == "refused with errno \(ENETDOWN)")
        let connection = ReachabilityReport.ConnectResult.connects(from: gateway)
        #expect(connection.description == "connects from 192.0.2.1")
    }

    /// The entry can name the gateway of a covering route, which the packet does not take.
    @Test(arguments: [RouteType.multicast, .broadcast], [nil, gateway])
    func `a group has the gateway of its packets, not that of the entry`(
        type: RouteType, own: IPAddress?
    ) throws {
        let group = IPAddress(224, 0, 0, 251)
        var script = ScriptedRouting.Script(interfaces: Self.interfaces)
        script.answers = [group: [.route(.via(2, gateway: gateway, type: type))]]
        script.choices = [group: .route(.via(2, gateway: own, type: type))]
        let report = try reachability(.address(group), ScriptedRouting(script)).blockingReport()
        #expect(report.gateway == own && report.flags.contains(.isDirect) == (own == nil))
        let both = [
            Nexthop(interfaceIndex: 2, gateway: gateway), Nexthop(interfaceIndex: 3, gateway: gateway),
        ]
        let several = RouteAnswer.taken(RouteMatch(type, both))
        let choice = RouteAnswer.taken(RouteMatch(type, Nexthop(interfaceIndex: 2, gateway: own)))
        let taken = several.taken(by: choice, of: RouteQuery(destination: group), takesOne: false)
        #expect(taken.nexthops.map(\.gateway) == (own == nil ? [nil, nil] : [gateway, gateway]))
    }

    // MARK: Races

    @Test func `an interface that is gone is looked up once more`() throws {
        for (absences, expected) in [(0, direct), (1, direct), (2, [])] {
            let network = ScriptedRouting(
                .init(
                    answers: [remote: [.route(.via(2))]], interfaces: Self.interfaces, absences: [2: absences]
                )
            )
            #expect(try reachability(.address(remote), network).blockingFlags() == expected)
            #expect(network.queries.count == (absences == 0 ? 1 : 2))
        }
    }

    @Test func `the second answer counts when the interface is gone`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [
            remote: [.route(.via(99)), .route(.via(3, gateway: gateway))]
        ]
        let network = ScriptedRouting(.init(answers: answers, interfaces: Self.interfaces))
        #expect(try reachability(.address(remote), network).blockingFlags() == .reachable)
    }
}
