// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// Several nexthops: each alone, the best rank, the lowest interface on ties.
struct RulesMultipathTests {
    private static let eth2Dormant = InterfaceFacts(
        link: Link(index: 5, name: "eth2", operationalState: .dormant)
    )
    private static let eth3Down = InterfaceFacts(link: Link(index: 6, name: "eth3", flags: []))
    private static let all = [InterfaceFacts.eth0, .eth1, .tunnel, eth2Dormant, eth3Down]

    private static let nexthops = [
        Nexthop(interfaceIndex: 3, gateway: IPAddress(192, 0, 3, 1)),
        Nexthop(interfaceIndex: 2, gateway: gateway),
        Nexthop(interfaceIndex: 2),
        Nexthop(interfaceIndex: 4),
        Nexthop(interfaceIndex: 5, gateway: gateway),
        Nexthop(interfaceIndex: 6, gateway: gateway),
    ]

    private static func permutations<Element>(_ elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    @Test func `the order of the nexthops never matters`() {
        let judgements = Self.permutations(Self.nexthops).map { judge(.route(.nexthops($0)), Self.all) }
        #expect(judgements.count == 720)
        #expect(Set(judgements.map(\.flags)) == [direct])
        #expect(Set(judgements.map(\.kind)) == [.someConnections])
        #expect(Set(judgements.map(\.nexthop)) == [Nexthop(interfaceIndex: 2)])
    }

    @Test func `the order of every subset of nexthops never matters`() {
        for choice in 1..<(1 << Self.nexthops.count) {
            let subset = Self.nexthops.indices.filter { choice >> $0 & 1 == 1 }.map { Self.nexthops[$0] }
            let judgements = [subset, subset.reversed()].map { judge(.route(.nexthops($0)), Self.all) }
            #expect(judgements[0].flags == judgements[1].flags)
            #expect(judgements[0].reason == judgements[1].reason)
            #expect(judgements[0].nexthop == judgements[1].nexthop)
        }
    }

    /// The reason had been that of the best nexthop alone.
    @Test(
        arguments: [
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)], .onLink),
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3, flags: .linkDown)], .someConnections),
            // The kernel does not choose it.
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3, flags: .dead)], .onLink),
            ([Nexthop(interfaceIndex: 3, flags: .linkDown)], .noCarrier),
        ] as [([Nexthop], ReachabilityReason.Code)])
    func `the reason says where only some connections leave`(
        nexthops: [Nexthop], kind: ReachabilityReason.Code
    ) {
        #expect(judge(.route(.nexthops(nexthops)), [.eth0, .eth1]).kind == kind)
    }

    /// The reason had been that of the first of them, as if the kernel took it.
    @Test(
        arguments: [
            ([Nexthop(interfaceIndex: 2, gateway: gateway), Nexthop(interfaceIndex: 3)], 2),
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)], 2),
            ([Nexthop(interfaceIndex: 2, gateway: gateway), Nexthop(interfaceIndex: 2)], 2),
            // Twice the same path, one that is not chosen, and one alone.
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 2)], 1),
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3, flags: .dead)], 1),
            ([Nexthop(interfaceIndex: 2)], 1),
            // The reason says already that it is about some connections.
            ([Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3, flags: .linkDown)], 1),
        ] as [([Nexthop], Int)])
    func `the reason says among how many nexthops the kernel chooses`(nexthops: [Nexthop], count: Int) {
        let words = "\(judge(.route(.nexthops(nexthops)), [.eth0, .eth1]).reason)"
        #expect(words.hasSuffix(", or by another of its 2 nexthops") == (count == 2), "\(words)")
    }

    @Test func `a usable nexthop outranks one that has to connect, and that one a dead one`() {
        let dead = Nexthop(interfaceIndex: 2, gateway: gateway, flags: .dead)
        let dormant = Nexthop(interfaceIndex: 5, gateway: gateway)
        let works = Nexthop(interfaceIndex: 4)
        #expect(
            judge(.route(.nexthops([dead, dormant, works])), Self.all).flags == [
                .reachable, .transientConnection,
            ])
        #expect(
            judge(.route(.nexthops([dead, dormant])), Self.all).flags == [.reachable, .connectionRequired])
    }

    @Test(arguments: [NexthopFlags.dead, .linkDown, [.dead, .linkDown]])
    func `the target is unreachable only when every nexthop is dead or linkdown`(flags: NexthopFlags) {
        var nexthops = [Nexthop(interfaceIndex: 2, flags: flags), Nexthop(interfaceIndex: 3, flags: flags)]
        #expect(judge(.route(.nexthops(nexthops)), Self.all).flags.isEmpty)
        nexthops[1].flags = []
        #expect(judge(.route(.nexthops(nexthops)), Self.all).flags == direct)
    }

    @Test func `ties take the lowest interface index`() {
        let nexthops = [Nexthop(interfaceIndex: 4), Nexthop(interfaceIndex: 3), Nexthop(interfaceIndex: 2)]
        #expect(judge(.route(.nexthops(nexthops)), Self.all).nexthop?.interfaceIndex == 2)
        let down = [Nexthop(interfaceIndex: 6, flags: .dead), Nexthop(interfaceIndex: 2, flags: .dead)]
        #expect(judge(.route(.nexthops(down)), Self.all).reason.name == "eth0")
    }

    /// The kernel chooses the other one, and the reason was that of the lower index.
    @Test func `a dead nexthop gives no reason beside one without a carrier`() {
        let nexthops = [
            Nexthop(interfaceIndex: 2, flags: [.dead, .linkDown]),
            Nexthop(interfaceIndex: 3, flags: .linkDown),
        ]
        #expect(
            judge(.route(.nexthops(nexthops)), Self.all).reason == ReachabilityReason(.noCarrier, "eth1"))
    }

    /// The kernel lists the nexthop of its choice first: between two nexthops of one interface that decided once.
    @Test func `ties on one interface take no gateway, then the lowest`() {
        let high = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 200))
        let low = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 3))
        let v6 = Nexthop(interfaceIndex: 2, gateway: IPAddress(v6High: 0xfe80 << 48, low: 1))
        let none = Nexthop(interfaceIndex: 2)
        for order in Self.permutations([high, low, v6]) {
            #expect(judge(.route(.nexthops(order)), Self.all).nexthop == low)
        }
        for order in Self.permutations([high, low, v6, none]) {
            #expect(judge(.route(.nexthops(order)), Self.all).flags == direct)
        }
    }

    @Test func `flags of different nexthops are never mixed`() {
        let nexthops = [Nexthop(interfaceIndex: 2, gateway: gateway), Nexthop(interfaceIndex: 4)]
        #expect(judge(.route(.nexthops(nexthops)), Self.all).flags == .reachable)
    }

    @Test func `a nexthop of a missing interface loses to any that works`() {
        let nexthops = [Nexthop(interfaceIndex: 1), Nexthop(interfaceIndex: 3)]
        #expect(judge(.route(.nexthops(nexthops)), Self.all).flags == direct)
        let gone = [Nexthop(interfaceIndex: 1), Nexthop(interfaceIndex: 99)]
        #expect(judge(.route(.nexthops(gone)), Self.all).reason.code == .interfaceGone)
    }

    @Test(arguments: 0..<512) func `the rank of flags is that of the rules`(choice: UInt32) {
        let flags = ReachabilityFlags(rawValue: (choice & 0x3f) | (choice >> 6) << 16)
        let expected = !flags.contains(.reachable) ? 0 : flags.contains(.connectionRequired) ? 1 : 2
        #expect(flags.rank == expected)
    }
}
