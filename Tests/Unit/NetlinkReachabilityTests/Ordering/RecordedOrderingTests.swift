// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The order of addresses in tables, which hold no choice of the kernel.
struct RecordedOrderingTests {
    /// A host with default routes that name no source address, and these IPv6 addresses.
    private static func source(_ own: (text: String, flags: InterfaceAddressFlags)...) throws -> NetworkSource
    {
        var snapshot = NetworkSnapshot()
        snapshot.apply(.link(LinkReport(Link(index: 2, name: "eth0", flags: [.up, .running, .lowerUp]))))
        for rule in Rule.standard { snapshot.apply(.rule(rule)) }
        let v4 = InterfaceAddress(interfaceIndex: 2, address: address("192.0.2.2"), prefixLength: 24)
        snapshot.apply(.address(v4))
        for (text, flags) in own {
            snapshot.apply(
                .address(
                    InterfaceAddress(
                        interfaceIndex: 2, address: address(text), prefixLength: 64, flags: flags)))
        }
        for (prefix, gateway) in [(IPPrefix.allV4, "192.0.2.1"), (.allV6, "fe80::1")] {
            let nexthop = Nexthop(interfaceIndex: 2, gateway: address(gateway))
            snapshot.apply(.route(Route(destination: prefix, nexthops: [nexthop]), .last))
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        return NetworkSource(routing: SnapshotRouting(snapshot), resolver: ScriptedResolver())
    }

    private static let both = [address("198.51.100.7"), address("2600::1")]

    @Test func `the source address is selected as the kernel selects it`() throws {
        let global = try Self.source(("2001:db8::2", []), ("fd00::2", [])).blockingValue(
            of: .order(of: Self.both))
        #expect(global.map(\.address) == [address("2600::1"), address("198.51.100.7")])
        #expect(global.map(\.sourceAddress) == [address("2001:db8::2"), address("192.0.2.2")])
        let local = try Self.source(("fd00::2", [])).blockingValue(of: .order(of: Self.both))
        #expect(local.map(\.rule) == [nil, .label])
        #expect(local.map(\.sourceAddress) == [address("192.0.2.2"), address("fd00::2")])
    }

    @Test func `several source addresses with the same place decide the order, and none is named`() throws {
        let list = try Self.source(("2001:db8::2", []), ("2001:db8::3", [])).blockingValue(
            of: .order(of: Self.both))
        #expect(list.map(\.rule) == [nil, .precedence])
        #expect(list.map(\.sourceAddress) == [nil, address("192.0.2.2")])
    }

    @Test func `several source addresses with different places are undecided`() throws {
        let source = try Self.source(("2001:db8::2", []), ("2001:db8::3", .homeAddress))
        let error = #expect(throws: ReachabilityError.self) {
            try source.blockingValue(of: .order(of: Self.both))
        }
        #expect(error?.code == .undecided)
        #expect(error?.message.contains("2001:db8::2 or 2001:db8::3") == true)
    }

    /// The rule of a neighbour of the other family was always 10, also against the given order.
    @Test(arguments: [
        (["2600::1", "198.51.100.7", "2001:db8::9"], OrderedAddress.Rule.longestPrefix),
        (["2001:db8::9", "198.51.100.7", "2600::1"], .givenOrder),
    ])
    func `rule 9 is named where it exchanges addresses across one of the other family`(
        given: [String],
        rule: OrderedAddress.Rule
    ) throws {
        let source = try Self.source(("2001:db8::2", []))
        let list = try source.blockingValue(
            of: .order(
                of:
                    given.map { address($0) }, policy: AddressPolicy(gaiConf: "precedence ::/0 40")))
        #expect(
            list.map(\.address) == ["2001:db8::9", "198.51.100.7", "2600::1"].map { address($0) })
        #expect(list.map(\.rule) == [nil, rule, rule])
    }
}
