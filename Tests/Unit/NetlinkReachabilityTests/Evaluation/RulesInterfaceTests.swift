// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// What the outgoing interface adds and takes away.
struct RulesInterfaceTests {
    private func flags(_ facts: InterfaceFacts, _ leg: NexthopFlags = []) -> ReachabilityFlags {
        let leg = Nexthop(interfaceIndex: facts.link.index, gateway: gateway, flags: leg)
        return judge(.legs([leg]), facts).flags
    }

    private func reason(_ facts: InterfaceFacts, _ leg: NexthopFlags = []) -> ReachabilityReason {
        let leg = Nexthop(interfaceIndex: facts.link.index, gateway: gateway, flags: leg)
        return judge(.legs([leg]), facts).reason
    }

    // MARK: Down

    @Test func interfaceThatIsNotUpIsZero() {
        let facts = InterfaceFacts.eth0.with { $0.flags = [.lowerUp, .running] }
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.interfaceDown, "eth0"))
    }

    @Test(
        "no carrier is 0 in every form that the kernel reports",
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
    func noCarrierIsZero(facts: InterfaceFacts) {
        #expect(flags(facts).isEmpty)
        #expect(reason(facts) == ReachabilityReason(.noCarrier, facts.link.name))
    }

    @Test(
        "up and unknown work, with a carrier or an unreported one",
        arguments: [OperationalState.up, .unknown, OperationalState(rawValue: 7)],
        [true, nil]
    )
    func upAndUnknownWork(state: OperationalState, carrier: Bool?) {
        let facts = InterfaceFacts.eth0.with {
            $0.operationalState = state
            $0.carrier = carrier
        }
        #expect(flags(facts) == .reachable)
    }

    @Test func runningIsNotLookedAt() {
        #expect(flags(.eth0.with { $0.flags = [.up, .lowerUp] }) == .reachable)
    }

    @Test(
        "a dead or linkdown nexthop is 0 although its interface works",
        arguments: [NexthopFlags.dead, .linkDown, [.dead, .linkDown]]
    )
    func deadNexthopIsZero(leg: NexthopFlags) {
        #expect(flags(.eth0, leg).isEmpty)
        #expect(reason(.eth0, leg).kind == (leg.contains(.linkDown) ? .noCarrier : .interfaceDown))
    }

    @Test(
        "other nexthop bits change nothing",
        arguments: [NexthopFlags.onLink, .unresolved, NexthopFlags(rawValue: 8)])
    func otherNexthopBitsChangeNothing(leg: NexthopFlags) {
        #expect(flags(.eth0, leg) == .reachable)
    }

    @Test func unknownFlagBitsOfTheLinkChangeNothing() {
        #expect(flags(.eth0.with { $0.flags.formUnion(LinkFlags(rawValue: 0xfffc_1b26)) }) == .reachable)
    }

    // MARK: Dormant

    @Test func dormantWithACarrierNeedsAConnection() {
        #expect(flags(.dormant) == [.reachable, .connectionRequired])
        #expect(reason(.dormant) == ReachabilityReason(.dormant, "eth0"))
    }

    @Test(
        "dormant point-to-point and cellular links connect on traffic",
        arguments: [
            InterfaceFacts.tunnel,
            InterfaceFacts(link: .ethernet(2, "wwan0"), isCellularDevice: true),
            InterfaceFacts(link: Link(index: 2, name: "wwan0", kind: "wwan")),
        ]
    )
    func dormantLinksConnectOnTraffic(facts: InterfaceFacts) {
        let flags = flags(facts.with { $0.operationalState = .dormant })
        #expect(
            flags.isSuperset(of: [
                .reachable, .connectionRequired, .connectionOnTraffic, .transientConnection,
            ]))
        #expect(isNetworkReachable(flags: flags))
    }

    @Test func interventionAndDemandAreNeverSet() {
        for facts in [InterfaceFacts.eth0, .tunnel, .dormant, .loopback] {
            #expect(flags(facts).isDisjoint(with: [.interventionRequired, .connectionOnDemand]))
        }
    }

    /// Newer kernels mark such IPv6 nexthops, and IPv6 was not reachable where IPv4 needed a connection.
    @Test("a nexthop marked linkdown over a dormant interface with a carrier needs a connection")
    func dormantLinkdown() {
        #expect(flags(.dormant, .linkDown).contains(.connectionRequired))
        #expect(reason(.dormant, .linkDown).code == .dormant)
        #expect(flags(.dormant, [.dead, .linkDown]).isEmpty)
        #expect(flags(.dormant.with { $0.carrier = false }, .linkDown).isEmpty)
        #expect(flags(.eth0, .linkDown).isEmpty)
    }

    // MARK: Placeholder addresses

    @Test func undialledLinkNeedsAConnectionAndMakesItOnTraffic() {
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
        "only pppd's pair of addresses counts as a placeholder",
        arguments: [
            ("10.64.64.64", "10.112.112.112", true), ("10.64.64.0", "10.112.112.112", true),
            ("10.64.64.65", "10.112.112.113", true), ("10.64.65.64", "10.112.112.112", false),
            ("10.64.64.64", "10.112.113.112", false), ("10.64.64.64", nil, false),
            ("192.0.2.2", "192.0.2.1", false), ("fe80::1", "fe80::2", false),
        ] as [(String, String?, Bool)]
    )
    func onlyThePairCounts(local: String, peer: String?, isPlaceholder: Bool) {
        let pair = InterfaceAddress(
            interfaceIndex: 2,
            address: address(local),
            peer: peer.map { address($0) },
            prefixLength: 32
        )
        #expect(pair.isDialPlaceholder == isPlaceholder)
    }

    // MARK: Layers below

    @Test func lowerInterfaceThatIsDownMakesTheUpperUseless() {
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

    @Test func theNearestObstacleBelowIsNamed() {
        var facts = InterfaceFacts(link: Link(index: 5, name: "mv0", kind: "macvlan", lower: 6))
        facts = facts.with(lowers: [
            Link(index: 6, name: "near", flags: []), Link(index: 2, name: "far", flags: []),
        ])
        #expect(reason(facts).other == "near")
        facts = facts.with { $0.flags = [] }
        #expect(reason(facts) == ReachabilityReason(.interfaceDown, "mv0"))
    }

    @Test func portsAreNotLookedAtForWhetherTheInterfaceCanSend() {
        var bond = InterfaceFacts(link: Link(index: 2, name: "bond0", kind: "bond"))
        bond = bond.with(ports: [Link(index: 3, name: "eth1", flags: [])])
        #expect(flags(bond) == .reachable)
    }

    @Test(
        "IFLA_LINK counts only for an interface below in this namespace",
        arguments: [
            (Link(index: 2, name: "a", kind: "vlan", lower: 1), 1),
            (Link(index: 2, name: "a", kind: "veth", lower: 1), nil),
            (Link(index: 2, name: "a", kind: "vlan", lower: 1, lowerIsForeign: true), nil),
            (Link(index: 2, name: "a", kind: "ipip", lower: 0), nil),
            (Link(index: 2, name: "a", kind: "ipip", lower: 2), nil),
            (Link(index: 2, name: "a"), nil),
        ] as [(Link, UInt32?)]
    )
    func lowerHere(link: Link, lower: UInt32?) {
        #expect(link.lowerHere == lower)
    }
}
