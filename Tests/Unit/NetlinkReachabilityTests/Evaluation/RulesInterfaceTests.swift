// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// What the outgoing interface adds and takes away.
struct RulesInterfaceTests {
    private func flags(_ facts: InterfaceFacts, _ nexthop: NexthopFlags = []) -> ReachabilityFlags {
        let nexthop = Nexthop(interfaceIndex: facts.link.index, gateway: gateway, flags: nexthop)
        return judge(.nexthops([nexthop]), facts).flags
    }

    private func reason(_ facts: InterfaceFacts, _ nexthop: NexthopFlags = []) -> ReachabilityReason {
        let nexthop = Nexthop(interfaceIndex: facts.link.index, gateway: gateway, flags: nexthop)
        return judge(.nexthops([nexthop]), facts).reason
    }

    // MARK: Down

    @Test func `an interface that is not up gives no flags`() {
        let facts = InterfaceFacts.eth0.with { $0.flags = [.lowerUp, .running] }
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.interfaceDown, "eth0"))
    }

    @Test(
        arguments: [
            InterfaceFacts.eth0.with { $0.flags = [.up, .running] },
            .eth0.with { $0.carrier = false },
            .eth0.with { $0.operationalState = .down },
            .eth0.with { $0.operationalState = .lowerLayerDown },
            .eth0.with { $0.operationalState = .notPresent },
            .eth0.with { $0.operationalState = .testing },
            .tunnel.with { $0.carrier = false },
            .dormant.with { $0.flags = [.up] },
            .dormant.with { $0.carrier = false },
        ]
    )
    func `no carrier is 0 in every form that the kernel reports`(facts: InterfaceFacts) {
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.noCarrier, facts.link.name))
    }

    @Test(
        arguments: [OperationalState.up, .unknown, OperationalState(rawValue: 7)],
        [true, nil]
    )
    func `up and unknown work, with a carrier or an unreported one`(state: OperationalState, carrier: Bool?) {
        let facts = InterfaceFacts.eth0.with {
            $0.operationalState = state
            $0.carrier = carrier
        }
        #expect(flags(facts) == .reachable)
    }

    @Test func `the running flag is ignored`() {
        #expect(flags(.eth0.with { $0.flags = [.up, .lowerUp] }) == .reachable)
    }

    @Test(arguments: [NexthopFlags.dead, .linkDown, [.dead, .linkDown]])
    func `a dead or linkdown nexthop is 0 although its interface works`(nexthop: NexthopFlags) {
        #expect(flags(.eth0, nexthop).isEmpty)
        #expect(reason(.eth0, nexthop).code == (nexthop.contains(.linkDown) ? .noCarrier : .interfaceDown))
    }

    @Test(arguments: [NexthopFlags.onLink, .unresolved, NexthopFlags(rawValue: 8)])
    func `other nexthop bits change nothing`(nexthop: NexthopFlags) {
        #expect(flags(.eth0, nexthop) == .reachable)
    }

    @Test func `unknown flag bits of the link change nothing`() {
        #expect(flags(.eth0.with { $0.flags.formUnion(LinkFlags(rawValue: 0xfffc_1b26)) }) == .reachable)
    }

    // MARK: Payloads

    @Test(
        arguments: [
            ([], []), (.ipv4, .reachable), (.ipv6, []), (.labels, []), ([.ipv4, .labels], .reachable),
            (.all, .reachable),
        ] as [(TunnelPayloads, ReachabilityFlags)])
    func `a tunnel that drops IPv4 reaches no IPv4 target`(
        payloads: TunnelPayloads, expected: ReachabilityFlags
    ) {
        let facts = InterfaceFacts.carrying(payloads)
        #expect(flags(facts).intersection(.reachable) == expected)
        if expected.isEmpty {
            #expect(reason(facts).description == "tnl6 carries no IPv4 packets")
        }
    }

    @Test func `packets are of the family of their destination, also behind a gateway of the other one`() {
        let via6 = Route.via(6, gateway: address("2001:db8::1"))
        #expect(judge(via6, .carrying(.ipv4)).flags.contains(.reachable))
        #expect(judge(via6, .carrying(.ipv6)).kind == .payloadNotCarried)
        let target = Candidate.address(address("2001:db8:5::1"))
        #expect(judge(.via(6), about: target, .carrying(.ipv6)).flags.contains(.reachable))
        let reason = judge(.via(6), about: target, .carrying(.ipv4)).reason
        #expect(reason.description == "tnl6 carries no IPv6 packets")
    }

    @Test func `packets behind labels are those of labels, whatever they carry`() {
        let nexthop = Nexthop(interfaceIndex: 6, encapsulation: Encapsulation(.mpls))
        #expect(judge(.nexthops([nexthop]), .carrying(.labels)).flags.contains(.reachable))
        let dropped = judge(.nexthops([nexthop]), .carrying([.ipv4, .ipv6]))
        #expect(dropped.reason == ReachabilityReason(.payloadNotCarried, "tnl6", other: "MPLS"))
    }

    @Test func `the state of the tunnel says more than what it drops`() {
        #expect(reason(.carrying([]).with { $0.flags.remove(.up) }).code == .interfaceDown)
    }

    /// `wg_xmit`, `ovpn_net_xmit`, `vti_tunnel_xmit`, `vti6_tnl_xmit` and `xfrmi_xmit` send IPv4 and IPv6.
    @Test(arguments: ["wireguard", "amneziawg", "ovpn", "vti", "vti6", "xfrm"])
    func `some tunnels drop labels alone`(kind: String) {
        let facts = InterfaceFacts(link: Link(index: 6, name: "t", kind: kind))
        #expect(facts.traits.intersection([.dropsIPv4, .dropsIPv6, .dropsLabels]) == .dropsLabels)
    }

    /// What an IPv4 route sends there comes back in, and was reachable; an IPv6 one rejects (`fib6_is_reject`).
    @Test(arguments: [
        ("2001:db8:5::1", RouteType.unicast, false), ("203.0.113.9", .unicast, false),
        ("2001:db8:5::1", .multicast, false), ("2001:db8:5::1", .local, true), ("203.0.113.9", .local, true),
        ("224.0.5.1", .multicast, true), ("255.255.255.255", .broadcast, true),
        ("127.0.0.9", .unicast, false),
    ])
    func `a route out of the loopback interface makes nothing reachable`(
        target: String, type: RouteType, isSent: Bool
    ) {
        let lo = InterfaceFacts(
            link: Link(index: 6, name: "lo", flags: [.up, .lowerUp, .running, .loopback]))
        let judgement = judge(.via(6, type: type), about: .address(address(target)), lo)
        #expect(judgement.flags.contains(.reachable) == isSent)
        if !isSent { #expect(judgement.kind == .unreachable) }
    }

    // MARK: Dormant

    @Test func `dormant with a carrier needs a connection`() {
        #expect(flags(.dormant) == [.reachable, .connectionRequired])
        #expect(reason(.dormant) == ReachabilityReason(.dormant, "eth0"))
    }

    @Test(
        arguments: [
            InterfaceFacts.tunnel,
            InterfaceFacts(link: .ethernet(2, "wwan0"), isCellularDevice: true),
            InterfaceFacts(link: Link(index: 2, name: "wwan0", kind: "wwan")),
        ]
    )
    func `dormant point-to-point and cellular links connect on traffic`(facts: InterfaceFacts) {
        let flags = flags(facts.with { $0.operationalState = .dormant })
        #expect(
            flags.isSuperset(of: [
                .reachable, .connectionRequired, .connectionOnTraffic, .transientConnection,
            ]))
        #expect(isNetworkReachable(flags: flags))
    }

    @Test func `intervention and demand are never set`() {
        for facts in [InterfaceFacts.eth0, .tunnel, .dormant, .loopback] {
            #expect(flags(facts).isDisjoint(with: [.interventionRequired, .connectionOnDemand]))
        }
    }

    /// Newer kernels mark such IPv6 nexthops, and IPv6 was not reachable where IPv4 needed a connection.
    @Test func `a nexthop marked linkdown over a dormant interface with a carrier needs a connection`() {
        #expect(flags(.dormant, .linkDown).contains(.connectionRequired))
        #expect(reason(.dormant, .linkDown).code == .dormant)
        #expect(flags(.dormant, [.dead, .linkDown]).isEmpty)
        #expect(flags(.dormant.with { $0.carrier = false }, .linkDown).isEmpty)
        #expect(flags(.eth0, .linkDown).isEmpty)
    }

    // MARK: Placeholder addresses

    @Test func `an undialled link needs a connection and makes it on traffic`() {
        var facts = InterfaceFacts.tunnel.with {
            $0.hardwareType = .ppp
            $0.kind = "ppp"
            $0.name = "ppp0"
        }
        #expect(flags(facts) == [.reachable, .transientConnection])
        facts = facts.with(hasPlaceholderAddresses: true)
        #expect(
            flags(facts) == [.reachable, .transientConnection, .connectionRequired, .connectionOnTraffic])
        #expect(reason(facts) == ReachabilityReason(.notDialled, "ppp0"))
    }

    @Test(
        arguments: [
            ("10.64.64.64", "10.112.112.112", true), ("10.64.64.0", "10.112.112.112", true),
            ("10.64.64.65", "10.112.112.113", true), ("10.64.65.64", "10.112.112.112", false),
            ("10.64.64.64", "10.112.113.112", false), ("10.64.64.64", nil, false),
            ("192.0.2.2", "192.0.2.1", false), ("fe80::1", "fe80::2", false),
        ] as [(String, String?, Bool)]
    )
    func `only pppd's pair of addresses counts as a placeholder`(
        local: String, peer: String?, isPlaceholder: Bool
    ) {
        let pair = InterfaceAddress(
            interfaceIndex: 2,
            address: address(local),
            peer: peer.map { address($0) },
            prefixLength: 32
        )
        #expect(pair.isDialPlaceholder == isPlaceholder)
    }

    // MARK: Layers below

    @Test func `a lower interface that is down makes the upper one unusable`() {
        // ipvlan on a vlan whose base is down: the kernel leaves it up, running, with a carrier.
        var facts = InterfaceFacts(link: Link(index: 5, name: "ipvl0", kind: "ipvlan", lower: 6))
        facts = facts.with(lowers: [
            Link(index: 6, name: "eth0.5", kind: "vlan", lower: 2),
            Link(index: 2, name: "eth0", flags: [], operationalState: .down),
        ])
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.lowerInterfaceDown, "ipvl0", other: "eth0"))
        facts = facts.with(lowers: [facts.lowers[0], Link(index: 2, name: "eth0", carrier: false)])
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.lowerNoCarrier, "ipvl0", other: "eth0"))
        facts = facts.with(lowers: [facts.lowers[0], .ethernet(2)])
        #expect(flags(facts) == .reachable)
    }

    @Test func `the nearest blocker below the interface is named`() {
        var facts = InterfaceFacts(link: Link(index: 5, name: "mv0", kind: "macvlan", lower: 6))
        facts = facts.with(lowers: [
            Link(index: 6, name: "near", flags: []), Link(index: 2, name: "far", flags: []),
        ])
        #expect(reason(facts).other == "near")
        facts = facts.with { $0.flags = [] }
        #expect(reason(facts) == ReachabilityReason(.interfaceDown, "mv0"))
    }

    @Test func `ports do not decide whether the interface can send`() {
        var bond = InterfaceFacts(link: Link(index: 2, name: "bond0", kind: "bond"))
        bond = bond.with(ports: [Link(index: 3, name: "eth1", flags: [])])
        #expect(flags(bond) == .reachable)
    }

    @Test(
        arguments: [
            (Link(index: 2, name: "a", kind: "vlan", lower: 1), 1),
            (Link(index: 2, name: "a", kind: "veth", lower: 1), nil),
            (Link(index: 2, name: "a", kind: "vlan", lower: 1, lowerIsForeign: true), nil),
            (Link(index: 2, name: "a", kind: "ipip", lower: 0), nil),
            (Link(index: 2, name: "a", kind: "ipip", lower: 2), nil),
            (Link(index: 2, name: "a"), nil),
        ] as [(Link, UInt32?)]
    )
    func `IFLA_LINK counts only for an interface below in this namespace`(link: Link, lower: UInt32?) {
        #expect(link.lowerHere == lower)
    }
}
