// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// What becomes of a packet that arrives, as a table: what the kernel answers and what is known, and the outcome.
struct ArrivalTests {
    private static let peer = IPAddress(203, 0, 113, 9)
    private static let own = IPAddress(198, 51, 100, 2)

    /// A host with an address on `eth2`, which reaches the peer through `eth3`.
    private static func host(_ answer: RouteAnswer, _ change: (inout ScriptedAnswers) -> Void = { _ in })
        -> ScriptedAnswers
    {
        var host = ScriptedAnswers(
            bySource: [nil: .success(unicast(3))],
            byDestination: [own: .success(.taken(RouteMatch(.local, Nexthop(interfaceIndex: 1))))])
        host.interfaces.append(Link(index: 1, name: "lo", flags: [.up, .running, .lowerUp, .loopback]))
        host.own = [InterfaceAddress(interfaceIndex: 2, address: own, prefixLength: 24)]
        host.bySource[own] = .success(unicast(3))
        host.arriving = .success(answer)
        host.policyRules = Rule.standard
        change(&host)
        return host
    }

    private static func unicast(_ index: UInt32, via gateway: IPAddress? = nil) -> RouteAnswer {
        .taken(RouteMatch(.unicast, Nexthop(interfaceIndex: index, gateway: gateway)))
    }

    private static func errno(_ number: Int32) -> RouteAnswer {
        .rejected(RouteRejection(rawValue: number))
    }

    /// The outcome in words, or the error.
    private static func words(
        _ host: ScriptedAnswers, from source: IPAddress = peer, to destination: IPAddress = own,
        mark: UInt32 = 0, on interface: UInt32 = 2
    ) -> String {
        host.facts.arrival(on: interface, from: source, to: destination, mark: mark)
    }

    // MARK: IPv4

    @Test(
        arguments: [
            (.taken(RouteMatch(.local, Nexthop(interfaceIndex: 1))), "delivered: this host's own address"),
            (
                .taken(RouteMatch(.broadcast, Nexthop(interfaceIndex: 1))),
                "delivered: a broadcast address on eth2"
            ),
            (.taken(RouteMatch(.multicast, nil)), "delivered: a multicast group on eth2"),
            (unicast(3), "forwarded: on the link of eth3, no gateway needed"),
            (unicast(3, via: peer), "forwarded: through gateway 203.0.113.9 on eth3"),
            (unicast(1), "dropped: the route out of lo says unreachable; the sender gets ICMP 11/0"),
            (errno(101), "dropped: no route; the sender gets ICMP 3/0"),
            (errno(13), "dropped: a route or rule prohibits it; the sender gets ICMP 3/13"),
            (errno(113), "dropped: this host does not forward packets that arrive on eth2; silently"),
            (
                errno(18),
                "dropped: the reverse path filter of eth2 (strict): the way back to 203.0.113.9 is eth3; silently"
            ),
        ] as [(RouteAnswer, String)])
    func `what the kernel answers about a packet says what becomes of it`(answer: RouteAnswer, words: String)
    {
        #expect(Self.words(Self.host(answer)) == words)
    }

    @Test func `the setting distinguishes a route that says unreachable from a host that does not forward`() {
        let host = Self.host(Self.errno(113)) { $0.settings.own.ipv4Forwards = true }
        #expect(Self.words(host) == "dropped: a route or rule says unreachable; the sender gets ICMP 3/1")
    }

    @Test(arguments: [
        ("224.0.0.5", "198.51.100.2", "martianSource"), ("0.0.0.0", "198.51.100.2", "martianSource"),
        ("127.0.0.1", "198.51.100.2", "martianSource"), ("203.0.113.9", "127.0.0.1", "martianDestination"),
        ("203.0.113.9", "0.0.0.0", "martianDestination"), ("203.0.113.9", "239.1.1.1", "groupNotJoined"),
        // Since Linux 5.3, the filter drops the rest of 0.0.0.0/8.
        ("0.1.2.3", "198.51.100.2", "reversePathFilter"),
        // A group that is not joined is met before the source.
        ("224.0.0.5", "239.1.1.1", "groupNotJoined"), ("203.0.113.9", "198.51.100.2", "reversePathFilter"),
    ])
    func `the kernel's EINVAL has the cause that it meets first`(source: String, target: String, code: String)
    {
        let host = Self.host(Self.errno(22)) { $0.settings.own.reversePathFilter = 1 }
        let result = host.facts.values(of: [()]) { (_, known) throws(Interruption) in
            try known.arrival(of: .arriving(on: 2, from: address(source), to: address(target)))
        }[0]
        #expect((try? result.get())?.reason.code.description == code)
    }

    @Test func `a blackhole is met before the source where the host forwards`() {
        func words(forwards: Bool, route: String) -> String {
            let host = Self.host(Self.errno(22)) {
                $0.settings.own.ipv4Forwards = forwards
                $0.settings.own.reversePathFilter = 1
                $0.routes = [Route(destination: prefix(route, 8), type: .blackhole, nexthops: [])]
            }
            return Self.words(host, to: IPAddress(10, 0, 0, 1))
        }
        #expect(words(forwards: true, route: "10.0.0.0").contains("blackhole"))
        #expect(words(forwards: true, route: "11.0.0.0").contains("reverse path filter"))
        #expect(words(forwards: false, route: "10.0.0.0").contains("reverse path filter"))
    }

    @Test(arguments: [(false, "10.0.0.0/8"), (true, "")])
    func `a rule decides which table has the blackhole`(isSelected: Bool, suffix: String) {
        let host = Self.host(Self.errno(22)) {
            $0.settings.own.ipv4Forwards = true
            $0.routes = [Route(destination: prefix("0.0.0.0", 0), type: .blackhole, table: 77, nexthops: [])]
            var rule = Rule(family: .v4, priority: 5, action: .lookup(table: 77))
            rule.inputInterface = isSelected ? "eth2" : "eth3"
            $0.policyRules.insert(rule, at: 0)
        }
        #expect(Self.words(host, to: IPAddress(10, 0, 0, 1)).contains("blackhole") == isSelected)
    }

    @Test func `an address of this host as sender is named where accept_local is off`() {
        func words(_ isTaken: Bool) -> String {
            Self.words(
                Self.host(Self.errno(22)) {
                    $0.settings.all.takesOwnSources = isTaken
                    $0.settings.own.reversePathFilter = 1
                }, from: Self.own)
        }
        #expect(words(false) == "dropped: the sender 198.51.100.2 is an address of this host; silently")
        #expect(words(true).contains("reverse path filter"))
    }

    /// It was named as that of the filter, which is off.
    @Test func `a sender that its mark makes an address of this host is named so`() {
        func words(_ looks: Bool, mark: UInt32) -> String {
            var rule = Rule(family: .v4, priority: 5, action: .lookup(table: 100))
            rule.mark = Masked(1)
            var host = ArrivalNetworks.host(
                .rule(rule), .route("0.0.0.0/0", dev: 1) { ($0.type, $0.table) = (.local, 100) })
            host.settings.looksBackByMark = looks
            return ArrivalNetworks.words(
                host, on: 3, from: "203.0.113.9", to: "198.51.100.2", mark: mark)
        }
        #expect(words(false, mark: 1) == "delivered: this host's own address")
        #expect(
            words(true, mark: 1)
                == "dropped: the sender 203.0.113.9 with the mark 0x1 is an address of this host; silently")
    }

    /// The filter that is off was named.
    @Test func `a sender that a rule makes an address of this host is refused without a filter`() {
        let host = ArrivalNetworks.host(
            .rule(.v4, 50, .lookup(table: 100)) { $0.source = NetworkChange.parsed("198.51.100.2/32") },
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("0.0.0.0/0", dev: 1) { ($0.type, $0.table) = (.local, 100) })
        #expect(
            ArrivalNetworks.words(host, on: 3, from: "203.0.113.9", to: "198.51.100.2")
                == "dropped: no packet from outside can come from 203.0.113.9; silently")
    }

    @Test func `an interface without an address is named where the filter drops`() {
        let host = Self.host(Self.errno(18)) {
            $0.own = []
            $0.settings.own.reversePathFilter = 2
        }
        #expect(
            Self.words(host)
                == "dropped: the reverse path filter of eth2 (loose): eth2 has no IPv4 address; silently")
    }

    @Test func `a packet for a port is that of its bridge, and of a port of a VRF its own`() {
        func receiver(_ kind: String) -> String {
            var host = Self.host(Self.errno(113))
            host.interfaces[0].master = 9
            host.interfaces[0].portKind = kind
            host.interfaces.append(Link(index: 9, name: "upper", kind: kind))
            return Self.words(host)
        }
        #expect(receiver("bridge").contains("arrive on upper"))
        #expect(receiver("vrf").contains("arrive on eth2"))
    }

    @Test func `a firewall that restores marks leaves it open where a mark would change the outcome`() {
        func words(_ looks: Bool, mark: UInt32 = 0) -> String {
            var rule = Rule(family: .v4, priority: 5, action: .lookup(table: 77))
            rule.mark = Masked(7)
            var host = ArrivalNetworks.host(
                .rule(rule), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
                .route("0.0.0.0/0", via: "198.51.100.1", dev: 3) { $0.table = 77 })
            ArrivalNetworks.set(&host, 3) { $0.reversePathFilter = 1 }
            host.settings.looksBackByMark = looks
            return ArrivalNetworks.words(host, on: 3, from: "203.0.113.9", to: "198.51.100.2", mark: mark)
        }
        #expect(words(false).hasPrefix("dropped: the reverse path filter"))
        #expect(words(true).hasPrefix("undecided: src_valid_mark is on, and with the mark 0x7"))
        #expect(words(true, mark: 7) == "delivered: this host's own address")
    }

    // MARK: IPv6

    @Test(arguments: [
        ("2001:db8::9", "::1", "martianDestination"), ("::1", "2001:db8::1", "martianSource"),
        ("ff02::1", "2001:db8::1", "martianSource"), ("2001:db8::9", "2001:db8:1::1", "notForwarding"),
    ])
    func `IPv6 addresses decide before the kernel is asked, and the setting after it`(
        source: String, target: String, code: String
    ) {
        let host = Self.host(Self.unicast(3))
        let result = host.facts.values(of: [()]) { (_, known) throws(Interruption) in
            try known.arrival(of: .arriving(on: 2, from: address(source), to: address(target)))
        }[0]
        #expect((try? result.get())?.reason.code.description == code)
    }

    @Test func `IPv6 forwarding is that of all interfaces or force_forwarding, and scoped senders stay`() {
        func words(_ source: String, _ change: (inout InputSettings) -> Void) -> String {
            Self.words(
                Self.host(Self.unicast(3)) { change(&$0.settings) }, from: address(source),
                to: address("2001:db8:1::1"))
        }
        #expect(words("2001:db8::9") { $0.all.ipv6Forwards = true }.hasPrefix("forwarded"))
        #expect(words("2001:db8::9") { $0.own.ipv6ForwardsAlways = true }.hasPrefix("forwarded"))
        #expect(words("2001:db8::9") { $0.own.ipv6Forwards = true }.hasPrefix("dropped"))
        #expect(words("fe80::9") { $0.all.ipv6Forwards = true }.contains("stay on the link of eth2"))
        #expect(words("fe80::9") { $0.own.ipv6IsOff = true }.contains("IPv6 is off on eth2"))
        #expect(words("2001:db8::9") { $0.own.ipv6IsOff = nil }.contains("disable_ipv6 of eth2"))
    }

    /// It was said to be dropped silently.
    @Test func `the sender of an IPv6 packet that is routed out of the loopback interface gets ICMP`() {
        let words = Self.words(
            Self.host(Self.unicast(1)) { $0.settings.all.ipv6Forwards = true },
            from: address("2001:db8::9"), to: address("2001:db8:1::1"))
        #expect(words == "dropped: the route out of lo says unreachable; the sender gets ICMP 1/0")
    }

    @Test(arguments: [
        (false, "delivered: this host's own address"), (true, "dropped: IPv6 is off on lo; silently"),
    ])
    func `an IPv6 packet to oneself needs IPv6 on the loopback interface`(isOff: Bool, words: String) {
        let own = IPAddress("2001:db8::2")
        let host = Self.host(Self.unicast(3)) {
            $0.byDestination[own] = .success(.taken(RouteMatch(.local, Nexthop(interfaceIndex: 1))))
            $0.settings.own.ipv6IsOff = isOff
        }
        #expect(Self.words(host, from: own, to: own, on: 1) == words)
    }

    @Test func `whether a group of IPv6 is delivered is not known`() {
        let words = Self.words(
            Self.host(Self.unicast(3)), from: address("2001:db8::9"), to: address("ff02::fb"))
        #expect(words.hasPrefix("undecided: groups that sockets have joined"))
    }
}
