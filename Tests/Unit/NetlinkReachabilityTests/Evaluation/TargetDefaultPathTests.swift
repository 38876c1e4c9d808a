// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import RoutingModel
import Testing

/// How the two halves of the IPv4 address space, and IPv6, become one default path.
struct TargetDefaultPathTests {
    private typealias Answers = [IPAddress: [ScriptedRouting.Answer]]

    private static let routed = ScriptedRouting.Answer.route(.via(2, gateway: gateway))
    private static let elsewhere = ScriptedRouting.Answer.route(.via(4))
    private static let dormant = ScriptedRouting.Answer.route(.via(5))

    private func network(_ answers: Answers) -> ScriptedRouting {
        let facts = InterfaceFacts(link: Link(index: 5, name: "dormant0", operationalState: .dormant))
        return ScriptedRouting(
            .init(answers: answers, interfaces: [.loopback, .eth0, .eth1, .tunnel, facts]))
    }

    @Test func `public addresses are asked about, and no special ones`() throws {
        let network = network([:])
        #expect(try reachability(.defaultPath, network).blockingReport().reason.code == .noDefaultRoute)
        #expect(network.queries.map(\.destination) == [lowerProbe, upperProbe, probeV6])
    }

    /// A filter or an own network over the first probe made the answer "not reachable".
    @Test(
        arguments: [
            .route(.via(1, type: .local)), .rejected(.unreachable), .rejected(.blackhole),
            .rejected(.prohibited), .rejected(.noRoute),
        ] as [ScriptedRouting.Answer], [lowerProbe, upperProbe])
    func `an entry for one half does not hide the other`(
        entry: ScriptedRouting.Answer, hidden: IPAddress
    ) throws {
        let other = hidden == lowerProbe ? upperProbe : lowerProbe
        let handle = try reachability(.defaultPath, network([hidden: [entry], other: [Self.routed]]))
        #expect(try handle.blockingFlags() == .reachable)
        let report = try handle.blockingReport()
        #expect(report.gateway == gateway && report.address == nil)
    }

    @Test func `the better half decides, and the lower one of equals`() throws {
        let better = try reachability(
            .defaultPath, network([lowerProbe: [Self.dormant], upperProbe: [Self.elsewhere]]))
        #expect(try better.blockingFlags() == [.reachable, .transientConnection])
        let equal = try reachability(
            .defaultPath, network([lowerProbe: [Self.routed], upperProbe: [Self.elsewhere]]))
        #expect(try equal.blockingReport().interface?.name == "eth0")
    }

    @Test(arguments: [lowerProbe, upperProbe, probeV6])
    func `a rejection gives the reason where the other addresses have no route`(rejected: IPAddress) throws {
        let network = network([rejected: [.rejected(.unreachable)]])
        let report = try reachability(.defaultPath, network).blockingReport()
        #expect(report.flags.isEmpty && report.reason.code == .unreachable)
    }

    // MARK: Reports and paths

    @Test func `a report shows the halves once where they are the same`() throws {
        let same = network([
            lowerProbe: [Self.routed], upperProbe: [Self.routed], probeV6: [Self.routed],
        ])
        let report = try reachability(.defaultPath, same).blockingReport()
        #expect(report.findings.map(\.address) == [lowerProbe, probeV6])
        let none = try reachability(.defaultPath, network([:])).blockingReport()
        #expect(none.findings.map(\.address) == [lowerProbe, probeV6])
    }

    @Test func `a report shows both halves where they differ`() throws {
        let network = network([lowerProbe: [Self.routed], upperProbe: [Self.elsewhere]])
        let report = try reachability(.defaultPath, network).blockingReport()
        #expect(report.findings.map(\.address) == [lowerProbe, upperProbe, probeV6])
        #expect(report.findings.map(\.flags) == [.reachable, [.reachable, .transientConnection], []])
    }

    @Test func `a path uses the interfaces of both halves`() throws {
        let network = network([lowerProbe: [Self.routed], upperProbe: [Self.elsewhere]])
        let source = NetworkSource(routing: network, resolver: ScriptedResolver())
        let path = try source.blockingValue(of: .path())
        #expect(path.usesInterfaceType(.wiredEthernet) && path.usesInterfaceType(.other))
        #expect(path.gateways == [gateway])
        #expect(path.supportsIPv4 && !path.supportsIPv6)
    }
}
