// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import RoutingModel
import Testing

/// A socket that is bound to a local address.
struct TargetSourceTests {
    private static let local = IPAddress(192, 0, 2, 2)
    private static let remoteV6 = IPAddress(v6High: 0x2001_0db8 << 32, low: 7)
    private static let localV6 = IPAddress(v6High: 0x2001_0db8 << 32, low: 2)

    private func network(_ more: [IPAddress: [ScriptedRouting.Answer]] = [:]) -> ScriptedRouting {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [
            Self.local: [.route(.via(2, type: .local))],
            remote: [.route(.via(2, gateway: gateway))], Self.remoteV6: [.route(.via(2, gateway: gateway))],
            lowerProbe: [.route(.via(2, gateway: gateway))],
            probeV6: [.route(.via(2, gateway: gateway))],
        ]
        return ScriptedRouting(
            .init(
                answers: answers.merging(more) { $1 },
                interfaces: [.loopback, .eth0, .eth1],
                addresses: [
                    InterfaceAddress(
                        interfaceIndex: 1, address: .loopbackV6, prefixLength: 128, scope: .host),
                    InterfaceAddress(interfaceIndex: 2, address: Self.localV6, prefixLength: 64),
                ]
            )
        )
    }

    private func bound(to source: IPAddress) -> ReachabilityOptions {
        var options = ReachabilityOptions()
        options.sourceAddress = source
        return options
    }

    @Test func `the local address is checked, then the remote is looked up with it`() throws {
        let network = network()
        #expect(
            try reachability(.pair(local: Self.local, remote: remote), network).blockingFlags() == .reachable)
        #expect(
            network.queries == [
                RouteQuery(destination: Self.local), RouteQuery(destination: remote, source: Self.local),
            ]
        )
    }

    /// The report named the first of them.
    @Test func `a report has no source where the kernel can select several that take the same way`() throws {
        func source(_ sources: [IPAddress]) throws -> IPAddress? {
            var script = ScriptedRouting.Script(
                answers: [Self.remoteV6: [.rejected(.noRoute)]], interfaces: [.eth0])
            script.sources = sources
            for source in sources { script.answersBySource[source] = .route(.via(2, gateway: gateway)) }
            let report = try reachability(.address(Self.remoteV6), ScriptedRouting(script)).blockingReport()
            #expect(report.flags == .reachable)
            return report.sourceAddress
        }
        #expect(try source([Self.localV6]) == Self.localV6)
        #expect(try source([Self.localV6, IPAddress(v6High: 0x2001_0db8 << 32, low: 3)]) == nil)
    }

    /// The source that the kernel selects is not an address that the program binds to.
    @Test func `the socket of a report is bound to the local address, and to no selected one`() throws {
        let network = network()
        _ = try reachability(.pair(local: Self.local, remote: remote), network).blockingReport()
        _ = try reachability(.address(remote), network, options: bound(to: Self.local)).blockingReport()
        let own = RouteQuery(destination: remote, source: Self.local)
        #expect(network.connectQueries == [own, own])
        var script = ScriptedRouting.Script(
            answers: [Self.remoteV6: [.rejected(.noRoute)]], interfaces: [.eth0])
        script.sources = [Self.localV6]
        script.answersBySource = [Self.localV6: .route(.via(2, gateway: gateway))]
        let selecting = ScriptedRouting(script)
        let report = try reachability(.address(Self.remoteV6), selecting).blockingReport()
        #expect(report.isReachable && selecting.connectQueries == [RouteQuery(destination: Self.remoteV6)])
    }

    @Test(
        arguments: [
            ScriptedRouting.Answer.route(.via(2)), .route(.via(2, type: .anycast)),
            .route(.via(2, type: .broadcast)),
            .rejected(.noRoute), .rejected(.prohibited),
        ]
    )
    func `a local address that is not this host's is 0 for every other answer of the kernel`(
        answer: ScriptedRouting.Answer
    ) throws {
        let network = network([Self.local: [answer]])
        let report = try reachability(.pair(local: Self.local, remote: remote), network).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.description == "the source 192.0.2.2 is not an address of this host")
        #expect(network.queries.map(\.destination) == [Self.local, remote])
    }

    @Test func `the source of the options is checked in the same way`() throws {
        let network = network([Self.local: [.rejected(.noRoute)]])
        let report = try reachability(.address(remote), network, options: bound(to: Self.local))
            .blockingReport()
        #expect(report.reason.code == .notOwnAddress)
    }

    @Test func `a pair ignores a loopback local address for other targets`() throws {
        let network = network()
        let pair = try ReachabilityTarget.pair(local: .loopbackV4, remote: remote)
        #expect(try reachability(pair, network).blockingFlags() == .reachable)
        #expect(network.queries == [RouteQuery(destination: remote)])
    }

    /// The option was ignored like the local address of a pair.
    @Test func `from 127.0.0.1 only this host's addresses are reachable`() throws {
        let network = network([.loopbackV4: [.route(.via(1, type: .local))], remote: [.rejected(.blackhole)]])
        let report = try reachability(.address(remote), network, options: bound(to: .loopbackV4))
            .blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.description == "packets from 127.0.0.1 reach only this host")
        for target in [Self.local, .loopbackV4] {
            #expect(
                try reachability(.address(target), network, options: bound(to: .loopbackV4)).blockingFlags()
                    == own)
        }
    }

    /// The kernel sends such packets, and no router may forward them.
    @Test func `from the loopback IPv6 address nothing behind a gateway is reachable`() throws {
        let network = network()
        let options = bound(to: .loopbackV6)
        let report = try reachability(.address(Self.remoteV6), network, options: options).blockingReport(
            .brief)
        #expect(report.flags.isEmpty && report.reason.code == .unusableSource)
        #expect(report.reason.description == "no usable source address on eth0: only the loopback address")
        #expect(network.queries.last == RouteQuery(destination: Self.remoteV6, source: .loopbackV6))
    }

    @Test(arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"]) func `an unspecified source is none`(text: String)
        throws
    {
        let network = network()
        let options = bound(to: address(text))
        #expect(try reachability(.address(remote), network, options: options).blockingFlags() == .reachable)
        #expect(try reachability(.defaultPath, network, options: options).blockingFlags() == .reachable)
        #expect(network.queries.allSatisfy { $0.source == nil })
    }

    /// The bytes of an IPv4 source once went to the kernel as an IPv6 source, which it takes without a word.
    @Test func `addresses of the other family are left out`() throws {
        let network = network()
        let report = try reachability(.address(Self.remoteV6), network, options: bound(to: Self.local))
            .blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.description == "no IPv4 address, which the source 192.0.2.2 needs")
        #expect(network.queries.isEmpty)

        let resolver = ScriptedResolver(["host.example": .addresses([Self.remoteV6, remote])])
        let handle = try reachability(
            .host("host.example"),
            network,
            resolver: resolver,
            options: bound(to: Self.local)
        )
        #expect(try handle.blockingReport().findings.map(\.address) == [remote])
        #expect(network.queries.allSatisfy { $0.destination.family == .v4 })
    }

    @Test func `the default path is looked up in the family of the source`() throws {
        let network = network()
        let options = bound(to: Self.localV6)
        #expect(try reachability(.defaultPath, network, options: options).blockingFlags() == .reachable)
        #expect(network.queries.map(\.destination) == [probeV6])
    }

    @Test func `a pair with the zero address is the default path from there`() throws {
        let network = network()
        #expect(
            try reachability(.pair(local: Self.local, remote: .anyV4), network).blockingFlags() == .reachable)
        #expect(
            network.queries == [
                RouteQuery(destination: Self.local),
                RouteQuery(destination: lowerProbe, source: Self.local),
                RouteQuery(destination: upperProbe, source: Self.local),
            ]
        )
    }

    @Test func `a mapped source is an IPv4 source`() throws {
        let network = network()
        let options = bound(to: address("::ffff:192.0.2.2"))
        #expect(try reachability(.address(remote), network, options: options).blockingFlags() == .reachable)
        #expect(network.queries.last?.source == Self.local)
    }

    @Test func `a loopback target keeps a loopback source`() throws {
        let network = network([.loopbackV4: [.route(.via(1, type: .local))]])
        let target = try ReachabilityTarget.pair(local: .loopbackV4, remote: .loopbackV4)
        #expect(try reachability(target, network).blockingFlags() == own)
        #expect(network.queries.last?.source == .loopbackV4)
    }

    /// It named the route's own source, or the kernel's choice for an unbound socket.
    @Test func `a report names the bound source`() throws {
        var route = Route.via(2, gateway: gateway)
        route.preferredSource = IPAddress(192, 0, 2, 99)
        let network = network([remote: [.route(route)]])
        let pair = try reachability(.pair(local: Self.local, remote: remote), network)
        #expect(try pair.blockingReport().sourceAddress == Self.local)
        let bound = try reachability(.address(remote), network, options: bound(to: Self.local))
        #expect(try bound.blockingReport().sourceAddress == Self.local)
    }

    @Test(arguments: ["198.51.100.7%eth0", "fe80::9%eth0"])
    func `the kernel's choice is asked bound where the query was`(text: String) throws {
        let target = address(text)
        let network = network([target.withoutZone: [.route(.via(2))]])
        _ = try reachability(.address(target), network).blockingReport()
        #expect(network.choiceQueries == [RouteQuery(destination: target.withoutZone, outputInterface: 2)])
    }
}
