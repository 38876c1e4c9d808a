// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

/// The rules of RFC 6724, section 6, one by one.
struct DestinationFactsTests {
    /// A destination with its source address, as the rules see it.
    private static func facts(
        _ destination: String,
        from source: String?,
        length: UInt8? = nil,
        flags: InterfaceAddressFlags = [],
        hardware: HardwareType = .ethernet,
        _ policy: AddressPolicy = .standard
    ) -> DestinationFacts {
        let destination = address(destination)
        guard let source = source.map({ address($0) }) else { return DestinationFacts(destination, policy) }
        let length = length ?? (source.family == .v4 ? 24 : 64)
        let own = InterfaceAddress(interfaceIndex: 2, address: source, prefixLength: length, flags: flags)
        let link = Link(index: 2, name: "eth0", hardwareType: hardware)
        return DestinationFacts(destination, from: source, own, through: link, policy)
    }

    /// Checks that a rule prefers the first, in both directions.
    private static func expect(
        _ rule: OrderedAddress.Rule,
        prefers first: DestinationFacts,
        to second: DestinationFacts,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let (there, back) = (first.decision(against: second), second.decision(against: first))
        #expect(there?.rule == rule && there?.isPreferred == true, sourceLocation: sourceLocation)
        #expect(back?.rule == rule && back?.isPreferred == false, sourceLocation: sourceLocation)
        #expect(DestinationFacts.order([second, first]) == [1, 0], sourceLocation: sourceLocation)
    }

    @Test func `rule 1 avoids what cannot be reached`() {
        Self.expect(
            .unreachable, prefers: Self.facts("198.51.100.1", from: "192.0.2.2"),
            to: Self.facts("2600::1", from: nil))
    }

    @Test func `rule 2 prefers the scope of the source`() {
        Self.expect(
            .scope, prefers: Self.facts("198.51.100.1", from: "192.0.2.2"),
            to: Self.facts("2600::1", from: "fe80::2"))
    }

    @Test(arguments: [InterfaceAddressFlags.deprecated, .optimistic])
    func `rule 3 avoids deprecated and optimistic sources`(flags: InterfaceAddressFlags) {
        Self.expect(
            .deprecated, prefers: Self.facts("198.51.100.1", from: "192.0.2.2"),
            to: Self.facts("2600::1", from: "2600::2", flags: flags))
    }

    @Test func `rule 4 prefers home addresses`() {
        Self.expect(
            .homeAddress, prefers: Self.facts("2600::1", from: "2600::3", flags: .homeAddress),
            to: Self.facts("2600::1", from: "2600::2"))
    }

    @Test func `rule 5 prefers the label of the source`() {
        Self.expect(
            .label, prefers: Self.facts("198.51.100.1", from: "192.0.2.2"),
            to: Self.facts("2600::1", from: "fd00::2"))
    }

    @Test func `rule 6 prefers the higher precedence`() {
        Self.expect(
            .precedence, prefers: Self.facts("2600::1", from: "2600::2"),
            to: Self.facts("198.51.100.1", from: "192.0.2.2"))
    }

    @Test func `rule 6 is the policy's`() {
        let policy = AddressPolicy(gaiConf: "precedence ::ffff:0:0/96 100")
        Self.expect(
            .precedence, prefers: Self.facts("198.51.100.1", from: "192.0.2.2", policy),
            to: Self.facts("2600::1", from: "2600::2", policy))
    }

    @Test(arguments: [HardwareType.sit, .tunnel, .tunnel6])
    func `rule 7 avoids IP tunnels`(hardware: HardwareType) {
        Self.expect(
            .nativeTransport, prefers: Self.facts("2600::1", from: "2600::2"),
            to: Self.facts("2600::1", from: "2600::2", hardware: hardware))
    }

    @Test func `rule 8 prefers the smaller scope`() {
        Self.expect(
            .smallerScope, prefers: Self.facts("fe80::1", from: "fe80::2"),
            to: Self.facts("2600::1", from: "2600::2"))
    }

    @Test func `rule 9 prefers the longer common prefix`() {
        Self.expect(
            .longestPrefix, prefers: Self.facts("2600::1:0:0:0:1", from: "2600::2"),
            to: Self.facts("2601::1", from: "2600::2"))
    }

    @Test func `rule 9 prefers the subnet of an IPv4 source`() {
        Self.expect(
            .longestPrefix, prefers: Self.facts("192.0.2.9", from: "192.0.2.2"),
            to: Self.facts("192.0.3.9", from: "192.0.2.2"))
    }

    @Test func `rule 9 does not compare IPv4 addresses beyond the subnet`() {
        let (near, far) = (
            Self.facts("192.0.3.9", from: "192.0.2.2"), Self.facts("10.0.0.1", from: "192.0.2.2")
        )
        #expect(near.decision(against: far) == nil)
    }

    @Test func `rule 9 does not compare bits behind the prefix of the source`() {
        let (near, far) = (Self.facts("2600::3", from: "2600::2"), Self.facts("2600::ffff", from: "2600::2"))
        #expect(near.decision(against: far) == nil)
        let (one, other) = (
            Self.facts("192.0.2.3", from: "192.0.2.2"), Self.facts("192.0.2.99", from: "192.0.2.2")
        )
        #expect(one.decision(against: other) == nil)
    }

    @Test func `rule 9 compares destinations of one family`() {
        let policy = AddressPolicy(gaiConf: "precedence ::/0 7")
        let (v4, v6) = (
            Self.facts("192.0.2.9", from: "192.0.2.2", policy), Self.facts("2600::1", from: "2600::2", policy)
        )
        #expect(v4.decision(against: v6) == nil)
        #expect(DestinationFacts.order([v4, v6]) == [0, 1] && DestinationFacts.order([v6, v4]) == [0, 1])
    }

    @Test func `rule 9 orders each family on its own places`() {
        let policy = AddressPolicy(gaiConf: "precedence ::/0 7")
        let far = Self.facts("2601::1", from: "2600::2", policy)
        let v4 = Self.facts("192.0.2.9", from: "192.0.2.2", policy)
        let near = Self.facts("2600::1", from: "2600::2", policy)
        #expect(DestinationFacts.order([far, v4, near]) == [2, 1, 0])
    }

    @Test func `rule 10 keeps the order given`() {
        let same = Self.facts("198.51.100.1", from: "192.0.2.2")
        #expect(DestinationFacts.order(Array(repeating: same, count: 50)) == Array(0..<50))
    }

    @Test func `destinations that cannot be reached are compared by precedence and scope`() {
        let all = ["192.0.2.1", "2600::1", "fe80::1"].map { Self.facts($0, from: nil) }
        #expect(DestinationFacts.order(all) == [2, 1, 0])
    }

    @Test func `an unknown source address matches nothing`() {
        let link = Link(index: 2, name: "eth0")
        let unknown = DestinationFacts(address("2600::1"), from: nil, nil, through: link, .standard)
        Self.expect(.scope, prefers: Self.facts("198.51.100.1", from: "192.0.2.2"), to: unknown)
    }

    /// The order is that of the rules for each pair, whatever the order given.
    @Test func `each of any two in the order is not preferred to the one before`() {
        var generator = SeededGenerator(seed: 6724)
        let destinations = [
            "2600::1", "2601::1", "fd00::1", "2002::1", "::1", "192.0.2.9", "198.51.100.1", "127.0.0.1",
        ]
        let sources = ["2600::2", "fd00::2", "192.0.2.2", "127.0.0.1", "fe80::2", nil]
        for _ in 0..<300 {
            let all = (0..<8).map { _ in
                Self.facts(
                    destinations.randomElement(using: &generator) ?? "",
                    from: sources.randomElement(using: &generator) ?? nil,
                    flags: Bool.random(using: &generator) ? .deprecated : [],
                    hardware: Bool.random(using: &generator) ? .sit : .ethernet)
            }
            let order = DestinationFacts.order(all)
            #expect(order.sorted() == Array(all.indices))
            for (first, second) in zip(order, order.dropFirst()) {
                let decision = all[first].decision(against: all[second])
                #expect(decision?.isPreferred ?? (first < second))
            }
        }
    }
}
