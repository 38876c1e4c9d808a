// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// What becomes of packets that arrive at a recorded host: the kernel's rules as a table.
///
/// Each was tried on a kernel first.
struct RecordedArrivalTests {
    private static let remote = "203.0.113.9"

    /// A host whose default route leaves through `eth0`.
    private static func host(filter: UInt8 = 0, forwards: Bool = false, _ changes: NetworkChange...)
        -> NetworkSnapshot
    {
        var host = ArrivalNetworks.host(.route("0.0.0.0/0", via: "192.0.2.1", dev: 2))
        for index in [UInt32(2), 3] {
            ArrivalNetworks.set(&host, index) {
                ($0.reversePathFilter, $0.ipv4Forwards) = (filter, forwards)
            }
        }
        for change in changes { host.apply(change) }
        return host
    }

    private static func word(
        _ host: NetworkSnapshot, _ index: UInt32, from source: String = remote, to target: String
    ) -> String {
        let words = ArrivalNetworks.words(host, on: index, from: source, to: target)
        return String(words.prefix { $0 != ";" })
    }

    private static func rule(_ priority: UInt32, _ action: Rule.Action, _ change: (inout Rule) -> Void)
        -> NetworkChange
    {
        .rule(.v4, priority, action, change: change)
    }

    // MARK: The reverse path filter

    @Test(arguments: [
        (0, 2, "delivered"), (0, 3, "delivered"), (1, 2, "delivered"), (1, 3, "dropped"), (2, 3, "delivered"),
    ])
    func `a strict filter takes an answer on the interface of the way back alone`(
        filter: UInt8, index: UInt32, outcome: String
    ) {
        let word = Self.word(Self.host(filter: filter), index, to: "198.51.100.2")
        #expect(word.hasPrefix(outcome))
        if outcome == "dropped" { #expect(word.hasSuffix("(strict): the way back to 203.0.113.9 is eth0")) }
    }

    @Test func `the greater of the two settings is in force, so that the loose one wins`() {
        var host = Self.host(filter: 1)
        host.settings.reversePathFilter = 2
        #expect(Self.word(host, 3, to: "198.51.100.2").hasPrefix("delivered"))
    }

    @Test func `a rule about the source of the way back makes the second uplink work`() {
        let host = Self.host(
            filter: 1,
            Self.rule(50, .lookup(table: 100)) { $0.source = NetworkChange.parsed("198.51.100.2/32") },
            .route("0.0.0.0/0", via: "198.51.100.1", dev: 3) { $0.table = 100 })
        #expect(Self.word(host, 3, to: "198.51.100.2").hasPrefix("delivered"))
        #expect(Self.word(host, 2, to: "198.51.100.2").hasPrefix("dropped"))
    }

    @Test func `each leg of a multipath route is a way back`() {
        let host = Self.host(
            filter: 1,
            .route(
                "203.0.113.0/24",
                nexthops: [
                    Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1)),
                    Nexthop(interfaceIndex: 3, gateway: IPAddress(198, 51, 100, 1)),
                ]))
        #expect(Self.word(host, 2, to: "198.51.100.2").hasPrefix("delivered"))
        #expect(Self.word(host, 3, to: "198.51.100.2").hasPrefix("delivered"))
        // A recording named the first one, and the kernel's answer the one that a hash chose.
        var other = host
        let third = Link(index: 4, name: "eth2", flags: [.up, .running, .lowerUp], settings: .initial)
        other.apply(.link(LinkReport(third)))
        other.apply(
            .address(InterfaceAddress(interfaceIndex: 4, address: IPAddress(10, 0, 0, 2), prefixLength: 24)))
        ArrivalNetworks.set(&other, 4) { $0.reversePathFilter = 1 }
        #expect(
            Self.word(other, 4, to: "198.51.100.2")
                .hasSuffix("(strict): the way back to 203.0.113.9 is eth0 or eth1"))
    }

    @Test func `the loose filter drops where there is no way back, or the interface has no address`() {
        var host = ArrivalNetworks.host()
        ArrivalNetworks.set(&host, 3) { $0.reversePathFilter = 2 }
        #expect(
            Self.word(host, 3, to: "198.51.100.2").hasSuffix("(loose): there is no way back to 203.0.113.9"))
        host = Self.host(filter: 2)
        host.apply(
            .removedAddress(
                InterfaceAddress(interfaceIndex: 3, address: IPAddress(198, 51, 100, 2), prefixLength: 24)))
        #expect(Self.word(host, 3, to: "192.0.2.2").hasSuffix("(loose): eth1 has no IPv4 address"))
        host = ArrivalNetworks.host()
        ArrivalNetworks.set(&host, 3) { ($0.reversePathFilter, $0.ipv4Forwards) = (2, true) }
        #expect(
            Self.word(host, 3, to: "192.0.2.9")
                .hasSuffix("(loose): there is no way back from 192.0.2.9 to 203.0.113.9"))
    }

    // MARK: Forwarding

    @Test(arguments: [
        (true, "forwarded: through gateway 192.0.2.1 on eth0"),
        (false, "dropped: this host does not forward packets that arrive on eth1"),
    ])
    func `the setting of the incoming interface decides over forwarding`(forwards: Bool, word: String) {
        #expect(
            Self.word(Self.host(forwards: forwards), 3, from: "198.51.100.9", to: "203.0.113.9") == word)
    }

    @Test func `a rule with the incoming interface decides for what arrives there alone`() {
        let host = Self.host(forwards: true, Self.rule(100, .prohibit) { $0.inputInterface = "eth1" })
        #expect(Self.word(host, 3, to: "203.0.113.9") == "dropped: a route or rule prohibits it")
        #expect(Self.word(host, 2, to: "203.0.113.9").hasPrefix("forwarded"))
        // The table of the host's own addresses comes first.
        #expect(Self.word(host, 3, to: "198.51.100.2").hasPrefix("delivered"))
    }

    @Test func `the filter of a forwarding host looks back with the outgoing interface as incoming`() {
        let host = Self.host(
            filter: 1, forwards: true, .route("10.0.0.0/8", via: "198.51.100.1", dev: 3),
            Self.rule(100, .lookup(table: 77)) { $0.inputInterface = "eth1" },
            .route("0.0.0.0/0", via: "198.51.100.1", dev: 3) { $0.table = 77 })
        // From eth0 to eth1: the way back, as if from eth1, is eth1.
        #expect(
            Self.word(host, 2, to: "10.0.0.9")
                == "dropped: the reverse path filter of eth0 (strict): no way back from 10.0.0.9 to 203.0.113.9 leads "
                + "through it")
        // To the host itself the rule does not count.
        #expect(Self.word(host, 2, to: "192.0.2.2").hasPrefix("delivered"))
    }

    @Test func `a rule for all packets in front of a pod takes its packets, too`() {
        let host = Self.host(
            forwards: true, Self.rule(100, .lookup(table: 52)) { _ in },
            .route("10.244.0.0/16", dev: 3),
            .route("0.0.0.0/0", dev: 2) { $0.table = 52 })
        #expect(Self.word(host, 2, to: "10.244.0.9") == "forwarded: on the link of eth0, no gateway needed")
    }

    @Test func `each of several nexthops is named, as the recording does not contain the kernel's choice`() {
        let nexthops = [(UInt32(2), IPAddress(192, 0, 2, 1)), (3, IPAddress(198, 51, 100, 1))]
        let host = Self.host(
            forwards: true,
            .route("203.0.113.0/24", nexthops: nexthops.map { Nexthop(interfaceIndex: $0, gateway: $1) }))
        #expect(
            Self.word(host, 2, from: "192.0.2.9", to: "203.0.113.9")
                == "forwarded: through gateway 192.0.2.1 or 198.51.100.1 on eth0 or eth1")
    }

    @Test func `a packet that leaves without a carrier says so`() {
        let down = Link(
            index: 3, name: "eth1", flags: [.up], operationalState: .down, carrier: false, settings: .initial)
        let host = Self.host(forwards: true, .link(LinkReport(down)))
        #expect(Self.word(host, 2, to: "198.51.100.77") == "forwarded: eth1 has no carrier")
    }

    // MARK: Sources

    @Test(arguments: [
        ("192.0.2.2", "dropped: the sender 192.0.2.2 is an address of this host"),
        ("127.0.0.1", "dropped: no packet from outside can come from 127.0.0.1"),
    ])
    func `senders that no host outside can have are dropped without a filter`(source: String, word: String) {
        #expect(Self.word(Self.host(), 3, from: source, to: "198.51.100.2") == word)
    }

    @Test func `accept_local takes the host's own addresses`() {
        var host = Self.host()
        ArrivalNetworks.set(&host, 3) { $0.takesOwnSources = true }
        #expect(Self.word(host, 3, from: "192.0.2.2", to: "198.51.100.2").hasPrefix("delivered"))
    }

    /// The kernel then looks at no source without a filter; this one was taken for one that no host has.
    @Test(arguments: [false, true])
    func `accept_local takes broadcast addresses as senders, too, unless there is a filter`(hasRule: Bool) {
        var host =
            hasRule ? Self.host(Self.rule(50, .lookup(table: 254)) { $0.mark = Masked(7) }) : Self.host()
        host.apply(
            .route("192.0.2.255/32", dev: 2) {
                ($0.type, $0.table, $0.scope, $0.origin) = (.broadcast, 255, .link, Route.kernelOrigin)
            })
        ArrivalNetworks.set(&host, 3) { $0.takesOwnSources = true }
        #expect(Self.word(host, 3, from: "192.0.2.255", to: "198.51.100.2").hasPrefix("delivered"))
        ArrivalNetworks.set(&host, 3) { $0.reversePathFilter = 2 }
        #expect(
            Self.word(host, 3, from: "192.0.2.255", to: "198.51.100.2")
                == "dropped: no packet from outside can come from 192.0.2.255")
    }

    /// All of 0.0.0.0/8 was refused.
    @Test func `since Linux 5-3 only 0-0-0-0 of its network is no sender and no destination`() {
        var host = Self.host(forwards: true)
        host.kernel = KernelRelease(5, 3)
        #expect(Self.word(host, 3, from: "0.1.2.3", to: "198.51.100.2").hasPrefix("delivered"))
        #expect(Self.word(host, 3, to: "0.1.2.3").hasPrefix("forwarded"))
        #expect(Self.word(host, 3, from: "0.0.0.0", to: "198.51.100.2").hasPrefix("dropped"))
        #expect(Self.word(host, 3, to: "0.0.0.0").hasPrefix("dropped"))
        host.kernel = KernelRelease(5, 2)
        #expect(Self.word(host, 3, from: "0.1.2.3", to: "198.51.100.2").hasPrefix("dropped"))
        #expect(Self.word(host, 3, to: "0.1.2.3").hasPrefix("dropped"))
    }

    // MARK: What a recording lacks

    @Test(arguments: [
        ("rp_filter", remote, "198.51.100.2"), ("forwarding", "198.51.100.9", "203.0.113.9"),
        ("accept_local", "192.0.2.2", "198.51.100.2"),
    ])
    func `a setting that is not recorded is named where it decides`(
        name: String, source: String, target: String
    ) {
        var host = Self.host(filter: 0)
        ArrivalNetworks.set(&host, 3) { settings in
            switch name {
            case "rp_filter": settings.reversePathFilter = nil
            case "forwarding": settings.ipv4Forwards = nil
            default: settings.takesOwnSources = nil
            }
        }
        let word = ArrivalNetworks.words(host, on: 3, from: source, to: target)
        #expect(word.hasPrefix("undecided: ") && word.contains("the setting \(name) of eth1"), "\(word)")
        // On the link of the way back a filter makes no difference.
        #expect(Self.word(host, 3, from: "198.51.100.9", to: "198.51.100.2").hasPrefix("delivered"))
    }

    // MARK: IPv6

    @Test func `IPv6 has no filter, and prefers the nexthop through the incoming interface`() {
        var host = Self.host()
        // Routes without a gateway are no nexthops of one route.
        for index in [UInt32(2), 3] {
            host.apply(.route("2001:db8:9::/48", dev: index, metric: 1_024))
        }
        host.settings.ipv6Forwards = true
        for index in [UInt32(2), 3] {
            let word = Self.word(host, index, from: "2001:db8::9", to: "2001:db8:9::9")
            #expect(word == "forwarded: on the link of eth\(index - 2), no gateway needed")
        }
    }

    /// It was forwarded, by any of them.
    @Test func `a packet from a link-local address is not known to be forwarded where a hash decides`() {
        var host = Self.host()
        host.settings.ipv6Forwards = true
        let gateways = [UInt32(2), 3].map { IPAddress(v6High: 0x2001_0db8_0000_0000 | UInt64($0), low: 1) }
        host.apply(
            .route(
                "2001:db8:9::/48",
                nexthops: zip([UInt32(2), 3], gateways).map { Nexthop(interfaceIndex: $0, gateway: $1) }))
        func word(from source: String) -> String { Self.word(host, 2, from: source, to: "2001:db8:9::9") }
        #expect(word(from: "2001:db8::9").hasPrefix("forwarded: through gateway"))
        #expect(word(from: "fe80::9").hasPrefix("undecided: the kernel chooses a nexthop by a hash"))
        #expect(Self.word(host, 1, from: "fe80::9", to: "2001:db8:9::9").contains("stay on the link of lo"))
    }
}
