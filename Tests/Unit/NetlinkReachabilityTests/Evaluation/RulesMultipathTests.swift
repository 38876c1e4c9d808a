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

    private static let legs = [
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

    @Test func theOrderOfTheLegsNeverMatters() {
        let verdicts = Self.permutations(Self.legs).map { judge(.route(.legs($0)), Self.all) }
        #expect(verdicts.count == 720)
        #expect(Set(verdicts.map(\.flags)) == [direct])
        #expect(Set(verdicts.map(\.reason)) == [ReachabilityReason(.onLink, "eth0")])
        #expect(Set(verdicts.map(\.nexthop)) == [Nexthop(interfaceIndex: 2)])
    }

    @Test func theOrderOfEverySubsetNeverMatters() {
        for choice in 1..<(1 << Self.legs.count) {
            let subset = Self.legs.indices.filter { choice >> $0 & 1 == 1 }.map { Self.legs[$0] }
            let verdicts = [subset, subset.reversed()].map { judge(.route(.legs($0)), Self.all) }
            #expect(verdicts[0].flags == verdicts[1].flags)
            #expect(verdicts[0].reason == verdicts[1].reason)
            #expect(verdicts[0].nexthop == verdicts[1].nexthop)
        }
    }

    @Test func aLegThatWorksBeatsOneThatHasToConnectAndThatBeatsADeadOne() {
        let dead = Nexthop(interfaceIndex: 2, gateway: gateway, flags: .dead)
        let dormant = Nexthop(interfaceIndex: 5, gateway: gateway)
        let works = Nexthop(interfaceIndex: 4)
        #expect(
            judge(.route(.legs([dead, dormant, works])), Self.all).flags == [
                .reachable, .transientConnection,
            ])
        #expect(judge(.route(.legs([dead, dormant])), Self.all).flags == [.reachable, .connectionRequired])
    }

    @Test(
        "only when every leg is dead or linkdown the target is unreachable",
        arguments: [NexthopFlags.dead, .linkDown, [.dead, .linkDown]]
    )
    func allLegsDeadIsUnreachable(flags: NexthopFlags) {
        var legs = [Nexthop(interfaceIndex: 2, flags: flags), Nexthop(interfaceIndex: 3, flags: flags)]
        #expect(judge(.route(.legs(legs)), Self.all).flags.isEmpty)
        legs[1].flags = []
        #expect(judge(.route(.legs(legs)), Self.all).flags == direct)
    }

    @Test func tiesTakeTheLowestInterfaceIndex() {
        let legs = [Nexthop(interfaceIndex: 4), Nexthop(interfaceIndex: 3), Nexthop(interfaceIndex: 2)]
        #expect(judge(.route(.legs(legs)), Self.all).nexthop?.interfaceIndex == 2)
        let down = [Nexthop(interfaceIndex: 6), Nexthop(interfaceIndex: 2, flags: .dead)]
        #expect(judge(.route(.legs(down)), Self.all).reason.name == "eth0")
    }

    /// The kernel lists the leg of its choice first: between two legs of one interface that decided once.
    @Test func tiesOnOneInterfaceTakeNoGatewayThenTheLowest() {
        let high = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 200))
        let low = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 3))
        let v6 = Nexthop(interfaceIndex: 2, gateway: IPAddress(v6High: 0xfe80 << 48, low: 1))
        let none = Nexthop(interfaceIndex: 2)
        for order in Self.permutations([high, low, v6]) {
            #expect(judge(.route(.legs(order)), Self.all).nexthop == low)
        }
        for order in Self.permutations([high, low, v6, none]) {
            #expect(judge(.route(.legs(order)), Self.all).flags == direct)
        }
    }

    @Test func flagsOfDifferentLegsAreNeverMixed() {
        let legs = [Nexthop(interfaceIndex: 2, gateway: gateway), Nexthop(interfaceIndex: 4)]
        #expect(judge(.route(.legs(legs)), Self.all).flags == .reachable)
    }

    @Test func aLegOfAGoneInterfaceLosesAgainstAnyThatWorks() {
        let legs = [Nexthop(interfaceIndex: 1), Nexthop(interfaceIndex: 3)]
        #expect(judge(.route(.legs(legs)), Self.all).flags == direct)
        let gone = [Nexthop(interfaceIndex: 1), Nexthop(interfaceIndex: 99)]
        #expect(judge(.route(.legs(gone)), Self.all).reason.kind == .interfaceGone)
    }

    @Test("the rank of flags is that of the rules", arguments: 0..<512)
    func rankIsThatOfTheRules(choice: UInt32) {
        let flags = ReachabilityFlags(rawValue: (choice & 0x3f) | (choice >> 6) << 16)
        let expected = !flags.contains(.reachable) ? 0 : flags.contains(.connectionRequired) ? 1 : 2
        #expect(flags.rank == expected)
    }
}
