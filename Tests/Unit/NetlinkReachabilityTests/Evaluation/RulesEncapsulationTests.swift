// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// Packets that their route puts into others: what the rules make of the inner and the outer judgement.
struct RulesEncapsulationTests {
    private static let routed = judge(.route(.via(3, gateway: gateway)), [.eth1])
    private static let onLink = judge(.route(.via(3)), [.eth1])
    private static let delivered = judge(.route(.via(1, type: .local)), [.loopback])
    private static let dormant = judge(.route(.via(3)), [.eth1.with { $0.operationalState = .dormant }])
    private static let tunnelled = judge(.route(.via(4)), [.tunnel])
    private static let lost = judge(.rejected(.noRoute))

    private static func inner(
        _ route: Route = .via(2),
        from source: IPAddress? = nil,
        _ facts: InterfaceFacts = .eth0
    ) -> Evaluation {
        judge(.route(route), from: source, [facts])
    }

    private func check(
        _ kind: Encapsulation.Kind,
        _ inner: Evaluation,
        _ outer: Evaluation?,
        _ flags: ReachabilityFlags,
        _ reason: ReachabilityReason.Code,
        _ interface: UInt32?
    ) {
        let destination = outer == nil ? nil : IPAddress(203, 0, 113, 77)
        let judgement = ReachabilityRules.judge(
            inner.judgement, inside: outer, Encapsulation(kind, to: destination))
        #expect(judgement.flags == flags)
        #expect(judgement.kind == reason)
        #expect(judgement.nexthop?.interfaceIndex == interface)
    }

    private static let unplugged = inner(.via(2), .eth0.with { $0.carrier = false })
    private static let down = inner(.via(2), .eth0.with { $0.flags.remove(.up) })

    @Test(
        arguments: [
            (inner(), routed, .reachable, .encapsulated, 3),
            (inner(), onLink, .reachable, .encapsulated, 3),
            (inner(), delivered, .reachable, .encapsulated, 1),
            (inner(), tunnelled, [.reachable, .transientConnection], .encapsulated, 4),
            (inner(), lost, [], .outerUnreachable, nil),
            // The outer packet is routed whatever the state of the interface.
            (unplugged, routed, .reachable, .encapsulated, 3),
            (down, routed, .reachable, .encapsulated, 3),
            (unplugged, lost, [], .outerUnreachable, nil),
            // The inner packet is refused before there is an outer one.
            (inner(from: .anyV4), routed, [], .unusableSource, 2),
            (inner(.via(2, type: .blackhole)), routed, [], .blackhole, nil),
        ] as [(Evaluation, Evaluation, ReachabilityFlags, ReachabilityReason.Code, UInt32?)])
    func `packets with segments are as the outer packet is`(
        inner: Evaluation, outer: Evaluation, flags: ReachabilityFlags, reason: ReachabilityReason.Code,
        interface: UInt32?
    ) {
        check(.seg6, inner, outer, flags, reason, interface)
    }

    @Test func `the outer packet of segments can need a connection first`() {
        check(.seg6, Self.inner(), Self.dormant, [.reachable, .connectionRequired], Self.dormant.kind, 3)
    }

    @Test func `a nexthop that the kernel passes over does not route its outer packet`() {
        let route = Route.nexthops([Nexthop(interfaceIndex: 2, flags: .dead)])
        let inner = Self.inner(route, .eth0.with { $0.carrier = false })
        check(.seg6, inner, Self.routed, [], inner.kind, 2)
    }

    @Test(
        arguments: [
            (inner(), routed, .reachable, .encapsulated, 2),
            (inner(), tunnelled, [.reachable, .transientConnection], .encapsulated, 2),
            (inner(), lost, [], .outerUnreachable, nil),
            // The tunnel itself has to send.
            (unplugged, routed, [], .noCarrier, 2), (down, routed, [], .interfaceDown, 2),
        ] as [(Evaluation, Evaluation, ReachabilityFlags, ReachabilityReason.Code, UInt32?)])
    func `packets of a tunnel need the tunnel and the outer packet`(
        inner: Evaluation, outer: Evaluation, flags: ReachabilityFlags, reason: ReachabilityReason.Code,
        interface: UInt32?
    ) {
        check(.ip, inner, outer, flags, reason, interface)
        check(.ip6, inner, outer, flags, reason, interface)
    }

    @Test func `a tunnel needs the connection that its outer packet needs`() {
        check(.ip, Self.inner(), Self.dormant, [.reachable, .connectionRequired], Self.dormant.kind, 3)
    }

    @Test func `a tunnel that drops the inner packet sends no outer one, and segments do not need it`() {
        let dropped = Self.inner(.via(6), .carrying(.ipv6))
        check(.ip, dropped, Self.routed, [], .payloadNotCarried, 6)
        check(.seg6, dropped, Self.routed, .reachable, .encapsulated, 3)
    }

    @Test func `labels leave through the interface and the gateway of the route`() {
        check(.mpls, Self.inner(.via(2, gateway: gateway)), nil, .reachable, .encapsulated, 2)
        check(.mpls, Self.inner(), nil, .reachable, .encapsulated, 2)
        check(.mpls, Self.unplugged, nil, [], .noCarrier, 2)
    }
}
