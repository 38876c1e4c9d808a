// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel
import Testing

@testable import NetlinkReachability

struct ReachabilityReasonTests {
    private typealias Kind = ReachabilityReason.Code

    /// One way to each reason.
    private static func reached() throws -> [ReachabilityReason] {
        var lowerDown = InterfaceFacts(link: Link(index: 5, name: "vlan5", kind: "vlan", lower: 2))
        lowerDown = lowerDown.with(lowers: [Link(index: 2, name: "eth0", flags: [])])
        var lowerCarrier = lowerDown
        lowerCarrier = lowerCarrier.with(lowers: [Link(index: 2, name: "eth0", carrier: false)])
        var undialled = InterfaceFacts.tunnel
        undialled = undialled.with(hasPlaceholderAddresses: true)
        let probe = try #require(Candidate.defaultPath(.v6).first)
        let judged = [
            judge(.via(1, type: .local), .loopback), judge(.via(1, type: .anycast), .loopback),
            judge(.via(2), .eth0),
            judge(.via(4), .tunnel), judge(.via(2, type: .broadcast), .eth0),
            judge(.via(2, type: .multicast), .eth0),
            judge(.via(2, gateway: gateway), .eth0), judge(.via(2), .dormant), judge(.via(4), undialled),
            judge(.rejected(.noRoute)), judge(.rejected(.noRoute), bound: "eth0"),
            judge(.rejected(.noRoute), about: probe),
            judge(.rejected(.unreachable)), judge(.rejected(.prohibited)), judge(.rejected(.blackhole)),
            judge(.rejected(.noFamily)), judge(.rejected(.noSourceAddress)),
            judge(.route(.via(2)), from: .anyV4, [.eth0]),
            judge(.route(.via(2, type: .multicast)), ipProtocol: 6, [.eth0]),
            judge(.via(2, type: RouteType(rawValue: 10)), .eth0),
            judge(.via(2), .eth0.with { $0.flags = [] }), judge(.via(2), .eth0.with { $0.carrier = false }),
            judge(.via(5), lowerDown), judge(.via(5), lowerCarrier), judge(.via(9)),
            judge(.via(6), .carrying(.ipv6)),
        ].map(\.reason)
        return judged + (try asked())
    }

    /// The reasons without an address to ask about.
    private static func asked() throws -> [ReachabilityReason] {
        let resolver = ScriptedResolver([
            "failed.example": .failed("Temporary failure in name resolution"), "slow.example": .timedOut,
        ])
        var onlyIPv6 = ReachabilityOptions()
        onlyIPv6.families = .v6
        let network = ScriptedRouting()
        let source = NetworkSource(routing: network, resolver: resolver)
        var fromLoopback = ReachabilityOptions()
        fromLoopback.sourceAddress = .loopbackV4
        let host = ScriptedRouting(
            .init(
                answers: [
                    .loopbackV4: [.route(.via(1, type: .local))], remote: [.rejected(.blackhole)],
                ]
            )
        )
        return [
            try reachability(.address(remote), host, options: fromLoopback).blockingReport().reason,
            try source.blockingValue(of: .path(requiring: .wifi)).reason,
            try reachability(.address(address("fe80::1")), network).blockingReport().reason,
            try reachability(.address(address("fe80::1%nosuch")), network).blockingReport().reason,
            try reachability(.pair(local: gateway, remote: remote), network).blockingReport().reason,
            try reachability(.address(remote), network, options: onlyIPv6).blockingReport().reason,
            try reachability(.host("missing.example"), network, resolver: resolver).blockingReport().reason,
            try reachability(.host("failed.example"), network, resolver: resolver).blockingReport().reason,
            try reachability(.host("slow.example"), network, resolver: resolver).blockingReport().reason,
        ]
    }

    /// Those that ConnectionStatusTests, EncapsulationTests, CarrierTests and ArrivalTests reach.
    private static let others = [
        ReachabilityReason(.encapsulated, "eth0", other: "seg6 to 2001:db8::1"),
        ReachabilityReason(.outerUnreachable, "seg6 to 2001:db8::1", other: "eth0 has no carrier"),
        ReachabilityReason(.unknownReturnPath, "eth1", other: "eth0 has no carrier"),
        ReachabilityReason(.remoteIsLocalAddress, "198.51.100.1"),
        ReachabilityReason(.tunnelWaits, "gre4", other: "eth0 has no carrier"),
        ReachabilityReason(.tunnelLoops, "gre4"),
        ReachabilityReason(.noPeer, "wg0", other: "198.51.100.1"),
        ReachabilityReason(.noEndpoint, "wg0", other: "198.51.100.1"),
        ReachabilityReason(.socketRefused, "EPERM"), ReachabilityReason(.tunnelsTooDeep, "3"),
        ReachabilityReason(.refusedByRule, "100 (to 198.51.100.0/24)", other: "prohibits it"),
        ReachabilityReason(.prohibited, "198.51.100.0/24 in table main"),
        ReachabilityReason(
            .someConnections, "through gateway 192.0.2.254 on eth0", other: "eth1 has no carrier"),
        ReachabilityReason(answerDropped: ReachabilityReason(.noRoute), by: "eth1"),
        ReachabilityReason(
            .reversePathFilter, "eth1", other: "(strict): the way back to 203.0.113.9 is eth0"),
        ReachabilityReason(.notForwarding, "eth1"),
        ReachabilityReason(.ownSource, "eth1", other: "192.0.2.2"),
        ReachabilityReason(.martianSource, "eth1", other: "127.0.0.1"),
        ReachabilityReason(.martianDestination, "eth1", other: "127.0.0.1"),
        ReachabilityReason(.groupNotJoined, "eth1", other: "224.0.0.251"),
        ReachabilityReason(.ipv6Off, "eth1"),
        ReachabilityReason(.scopedSource, "eth1", other: "fe80::9"),
    ]

    @Test func `every kind of reason is reached`() throws {
        let reached = Set(try (Self.reached() + Self.others).map(\.code))
        #expect(Set(Kind.allCases).subtracting(reached).isEmpty)
    }

    @Test func `every sentence is short, plain and without a full stop`() throws {
        for reason in try Self.reached() + Self.others {
            let text = reason.description
            #expect(text.count >= 5 && text.count <= 90, "\(text)")
            #expect(!text.hasSuffix("."), "\(text)")
            #expect(!text.contains("  ") && !text.contains("()") && !text.hasPrefix(" "), "\(text)")
            #expect(text.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 }, "\(text)")
            #expect(!text.contains("\(reason.code.rawValue):"), "\(text)")
        }
    }

    @Test func `sentences differ`() throws {
        let sentences = try Self.reached().map(\.description)
        #expect(Set(sentences).count == sentences.count)
    }

    @Test func `sentences name the interface that decided`() throws {
        let named: Set<Kind> = [
            .onLink, .pointToPoint, .broadcast, .multicast, .gateway, .dormant, .notDialled,
            .noRouteOutOfInterface,
            .interfaceDown, .noCarrier, .lowerInterfaceDown, .lowerNoCarrier,
        ]
        let names = ["eth0", "wg0", "vlan5"]
        let reasons = try Self.reached().filter { named.contains($0.code) }
        #expect(Set(reasons.map(\.code)) == named)
        for reason in reasons {
            #expect(names.contains { reason.description.contains($0) }, "\(reason)")
        }
    }

    @Test(
        arguments: [
            (ReachabilityReason(.gateway, "eth0", other: "192.0.2.1"), "through gateway 192.0.2.1 on eth0"),
            (ReachabilityReason(.noCarrier, "eth0"), "eth0 has no carrier"),
            (ReachabilityReason(.lowerInterfaceDown, "vlan5", other: "eth0"), "eth0, below vlan5, is down"),
            (ReachabilityReason(.noRouteOutOfInterface, "eth0"), "no route out of eth0"),
            (ReachabilityReason(.noFamily, "IPv6"), "this kernel does not support IPv6"),
            (ReachabilityReason(.nameNotFound, "a.example"), "the name a.example has no address"),
            (ReachabilityReason(.excludedFamily, "IPv6"), "no IPv6 address"),
        ] as [(ReachabilityReason, String)]
    )
    func `sentences read as a user expects`(reason: ReachabilityReason, sentence: String) {
        #expect(reason.description == sentence)
    }

    @Test(arguments: ReachabilityReason.Code.allCases) func `codes are the kinds' names`(
        kind: ReachabilityReason.Code
    ) {
        #expect(ReachabilityReason(kind).code.description == "\(kind)")
    }
}
