// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// What the kernel answered, before anything is known against the interface.
struct RulesAnswerTests {
    @Test(arguments: [RouteType.local, .anycast]) func `own and anycast addresses are R l d`(type: RouteType)
    {
        let judgement = judge(.via(1, type: type), .loopback)
        #expect(judgement.flags == own)
        #expect(judgement.reason.code == (type == .local ? .localAddress : .anycastAddress))
    }

    @Test(
        arguments: [
            InterfaceFacts.eth0.with { $0.flags = [] },
            .eth0.with { $0.carrier = false },
            .eth0.with { $0.operationalState = .lowerLayerDown },
            .dormant,
            .tunnel.with { $0.index = 2 },
        ]
    )
    func `an own address is R l d in every state of its interface`(facts: InterfaceFacts) {
        #expect(judge(.via(2, type: .local), facts).flags == own)
    }

    @Test func `an own address of a missing interface stays reachable`() {
        #expect(judge(.via(9, type: .local)).flags == own)
        #expect(judge(Route(destination: .allV4, type: .local)).flags == own)
    }

    @Test(arguments: [RouteType.unicast, .broadcast, .multicast]) func `a route without a gateway is direct`(
        type: RouteType
    ) {
        #expect(judge(.via(2, type: type), .eth0).flags == direct)
    }

    @Test(arguments: [RouteType.unicast, .broadcast, .multicast])
    func `a route over a point-to-point interface is not direct`(type: RouteType) {
        #expect(judge(.via(4, type: type), .tunnel).flags == [.reachable, .transientConnection])
    }

    @Test(
        arguments: [
            Nexthop(interfaceIndex: 2, gateway: gateway),
            Nexthop(interfaceIndex: 2, gateway: IPAddress(v6High: 0xfe80 << 48, low: 1)),
            Nexthop(interfaceIndex: 2, gateway: gateway, flags: .onLink),
        ]
    )
    func `through a gateway the target is only R`(nexthop: Nexthop) {
        let judgement = judge(.nexthops([nexthop]), .eth0)
        #expect(judgement.flags == .reachable)
        #expect(judgement.reason.code == .gateway)
    }

    /// It was direct: the kernel sends to a group through the gateway of a route for groups alone.
    @Test func `a group with a gateway of its own is only R`() {
        let judgement = judge(.via(2, gateway: gateway, type: .multicast), .eth0)
        #expect(judgement.flags == .reachable && judgement.reason.code == .gateway)
    }

    @Test(
        arguments: [
            (RouteType.blackhole, ReachabilityReason.Code.blackhole), (.unreachable, .unreachable),
            (.prohibit, .prohibited), (.throw, .noRoute), (RouteType(rawValue: 0), .unusableRoute),
            (RouteType(rawValue: 10), .unusableRoute), (RouteType(rawValue: 11), .unusableRoute),
            (RouteType(rawValue: 255), .unusableRoute),
        ] as [(RouteType, ReachabilityReason.Code)]
    )
    func `routes that send nothing are 0`(type: RouteType, kind: ReachabilityReason.Code) {
        let judgement = judge(.via(2, type: type), .eth0)
        #expect(judgement.flags.isEmpty)
        #expect(judgement.reason.code == kind)
    }

    @Test(
        arguments: [
            (RouteRejection.noRoute, ReachabilityReason.Code.noRoute), (.unreachable, .unreachable),
            (.prohibited, .prohibited), (.blackhole, .blackhole), (.noFamily, .noFamily),
        ] as [(RouteRejection, ReachabilityReason.Code)]
    )
    func `the kernel's refusals are 0`(rejection: RouteRejection, kind: ReachabilityReason.Code) {
        let judgement = judge(.rejected(rejection))
        #expect(judgement.flags.isEmpty)
        #expect(judgement.reason.code == kind)
        #expect(judgement.answer == .rejected(rejection))
    }

    @Test(arguments: [RouteRejection.unreachable, .noRoute])
    func `a bound query without a route is 0 and names the interface`(rejection: RouteRejection) {
        let judgement = judge(.rejected(rejection), bound: "eth7")
        #expect(judgement.flags.isEmpty)
        #expect(judgement.reason == ReachabilityReason(.noRouteOutOfInterface, "eth7"))
    }

    @Test(arguments: [RouteRejection.prohibited, .blackhole]) func `a bound query keeps a clear refusal`(
        rejection: RouteRejection
    ) {
        #expect(judge(.rejected(rejection), bound: "eth7").reason.code != .noRouteOutOfInterface)
    }

    @Test(
        arguments: [
            RouteType.local, .broadcast, .anycast, .multicast, .blackhole, .unreachable, .prohibit, .throw,
        ]
    )
    func `the default path counts only with a unicast answer`(type: RouteType) throws {
        let probe = try #require(Candidate.defaultPath(.v4).first)
        let judgement = judge(.via(2, type: type), about: probe, .eth0)
        #expect(judgement.flags.isEmpty)
        #expect(judgement.reason.code == .noDefaultRoute)
    }

    @Test func `a default path with a unicast answer is evaluated like an address`() throws {
        let probe = try #require(Candidate.defaultPath(.v6).first)
        #expect(judge(.via(2, gateway: gateway), about: probe, .eth0).flags == .reachable)
        #expect(judge(.via(2), about: probe, .eth0).flags == direct)
        #expect(judge(.rejected(.noRoute), about: probe).reason.code == .noDefaultRoute)
    }

    @Test func `a unicast route without a nexthop gives no flags`() {
        let judgement = judge(Route(destination: .allV4), .eth0)
        #expect(judgement.flags.isEmpty)
        #expect(judgement.reason.code == .interfaceGone)
    }

    // Section 1: Apple's "is there a local Wi-Fi".
    @Test(arguments: [true, false])
    func `169.254.0.0 is direct through wired and Wi-Fi interfaces with any route`(isWireless: Bool) {
        var facts = InterfaceFacts.eth0
        if isWireless { facts = facts.with(wirelessIndexes: [2]) }
        let subject = Candidate.address(IPAddress(169, 254, 0, 0))
        #expect(judge(.via(2, gateway: gateway), about: subject, facts).flags == direct)
        let other = Candidate.address(IPAddress(169, 254, 0, 1))
        #expect(judge(.via(2, gateway: gateway), about: other, facts).flags == .reachable)
    }

    @Test func `the link-local network is not direct through tunnels and modems`() {
        let subject = Candidate.address(IPAddress(169, 254, 0, 0))
        let modem = InterfaceFacts(link: .ethernet(2, "wwan0"), isCellularDevice: true)
        #expect(!judge(.via(4, gateway: gateway), about: subject, .tunnel).flags.contains(.isDirect))
        #expect(!judge(.via(2, gateway: gateway), about: subject, modem).flags.contains(.isDirect))
    }

    /// A bond's ports are known only to a report: they once made its flags differ.
    @Test func `the link-local network is direct through a bond, whatever its ports`() {
        var bond = InterfaceFacts.eth0.with { $0.kind = "bond" }
        bond = bond.with(ports: [Link(index: 5, name: "wwan0", kind: "wwan")])
        let subject = Candidate.address(IPAddress(169, 254, 0, 0))
        #expect(judge(.via(2, gateway: gateway), about: subject, bond).flags == direct)
    }
}
