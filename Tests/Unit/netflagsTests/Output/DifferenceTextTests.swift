// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkRecording
@testable import netflags

/// The sentences about what differs between two states.
struct DifferenceTextTests {
    private static let eth0 = Link(index: 2, name: "eth0")

    private func sentence(_ old: Link?, _ new: Link?) -> String {
        DifferenceText().words(.link(.init(old: old, new: new))).sentence
    }

    private static func change(_ change: (inout Link) -> Void) -> Link {
        var link = eth0
        change(&link)
        return link
    }

    @Test(
        arguments: [
            (change { $0.flags.remove(.up) }, "eth0 was set down"),
            (change { $0.operationalState = .dormant }, "eth0 became dormant (operstate)"),
            (change { $0.operationalState = .testing }, "eth0 lost its carrier"),
            (change { $0.operationalState = .notPresent }, "eth0 lost its carrier"),
            (change { $0.carrier = false }, "eth0 lost its carrier"),
            // The flags of targets stay: no rule knows the state.
            (change { $0.operationalState = .init(rawValue: 7) }, "eth0 became state 7 (operstate)"),
            (change { $0.name = "lan0" }, "eth0 was renamed to lan0"),
            (change { $0.master = 7 }, "eth0 became a port of interface 7"),
            (change { $0.lower = 8 }, "eth0 now lies on interface 8"),
            (change { $0.group = 5 }, "the group of eth0 became 5"),
            (change { $0.vrfTable = 254 }, "the table of eth0 became main"),
            (
                change { $0.settings.ipv4IgnoresLinkdown = true },
                "net.ipv4.conf.eth0.ignore_routes_with_linkdown became 1"
            ),
            (
                change { ($0.settings.ipv6IgnoresLinkdown, $0.settings.ipv6Forwards) = (false, true) },
                "net.ipv6.conf.eth0.ignore_routes_with_linkdown became 0, net.ipv6.conf.eth0.forwarding became 1"
            ),
            (change { $0.flags.insert(.noARP) }, "the flags of eth0 changed (0x80)"),
            (change { $0.kind = "dummy" }, "the driver's description of eth0 changed"),
        ] as [(Link, String)])
    func `a change of an interface is named`(new: Link, expected: String) {
        #expect(sentence(Self.eth0, new) == expected)
    }

    @Test func `what an interface loses is named by what it had`() {
        #expect(sentence(Self.change { $0.master = 7 }, Self.eth0) == "eth0 left interface 7")
        #expect(
            sentence(Self.change { $0.lower = 8 }, Self.eth0) == "eth0 now lies on no other interface")
        #expect(
            sentence(Self.change { $0.vrfTable = 10 }, Self.eth0) == "the table of eth0 became none")
    }

    @Test func `interfaces come and go by name`() {
        #expect(sentence(nil, Self.eth0) == "the interface eth0 was added")
        #expect(sentence(Self.eth0, nil) == "the interface eth0 was removed")
    }

    @Test func `a setting for all interfaces is named`() {
        var new = RoutingSettings()
        new.ipv6Forwards = true
        let words = DifferenceText().words(.settings(.init(old: RoutingSettings(), new: new)))
        #expect(words.sentence == "net.ipv6.conf.all.forwarding became 1")
        #expect(words.noun == "settings")
    }
}
