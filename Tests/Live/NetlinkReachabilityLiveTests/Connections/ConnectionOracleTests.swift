// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Random series of changes to a host's network: no viable connection whose data is not received, and no lost one whose
/// data is.
struct ConnectionOracleTests {
    /// A network with connections, and what can change in it.
    enum Topology: String, CaseIterable, Sendable {
        /// One uplink.
        case one
        /// Two uplinks, the second with a higher metric.
        case two
        /// Two uplinks; a mark selects the second.
        case marks
        /// One uplink with IPv6 addresses that are preferred, deprecated, and gone.
        case privacy
        /// Two uplinks, and MPTCP connections with a subflow over each.
        case multipath

        /// Those that this machine can make.
        static var available: [Topology] {
            allCases.filter { $0 != .multipath || Capability.mptcp.blocker == nil }
        }
    }

    @Test(.needs(.veth), arguments: Topology.available)
    func `data of viable connections is received and of lost ones is not, whatever has changed`(
        topology: Topology
    ) throws {
        let count = topology.changes.count
        let seed = topology.rawValue.utf8.reduce(Self.seed) { $0 &* 31 &+ UInt64($1) }
        var random = SeededGenerator(seed: seed)
        let steps = (0..<Rounds.of(500)).map { _ in Int.random(in: 0..<count, using: &random) }
        // The pauses between the retransmissions of a subflow grow with its outages, and MPTCP leaves data on it: after
        // hundreds of changes data arrives later than is waited for, so new connections go on.
        let length = topology == .multipath ? 50 : steps.count
        for start in stride(from: 0, to: steps.count, by: length) {
            let series = Array(steps[start..<min(start + length, steps.count)])
            guard var found = try topology.contradiction(in: series) else { continue }
            found = try Shrinking.smallest(found, steps: \.steps) { try topology.contradiction(in: $0) }
            Issue.record("\(found)")
            return
        }
    }

    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 7

    /// A contradiction, and the steps to it: a change is made, and changed back when it comes again.
    struct Contradiction: CustomStringConvertible {
        let steps: [Int]
        let names: [String]
        let text: String

        var description: String { "after \(names.joined(separator: ", ")): \(text)" }
    }

}

extension ConnectionOracleTests.Topology {
    /// Makes the network, and finds the first contradiction in a series of steps; `nil` where there is none.
    fileprivate func contradiction(in steps: [Int]) throws -> ConnectionOracleTests.Contradiction? {
        let net = try ConnectedHost(uplinks: uplinks, isMultipath: self == .multipath)
        for line in lines { try net.host.ip(line) }
        for fields in connections { _ = try net.connect(fields) }
        let changes = changes
        var made: Set<Int> = []
        var names: [String] = []
        for number in 0...steps.count {
            if number > 0 {
                let index = steps[number - 1]
                if made.remove(index) != nil {
                    try net.undo(changes[index])
                    names.append("undo \(changes[index].name)")
                } else {
                    try net.apply(changes[index])
                    made.insert(index)
                    names.append(changes[index].name)
                }
            }
            if let text = try net.contradiction() {
                return .init(steps: Array(steps.prefix(number)), names: names, text: text)
            }
        }
        return nil
    }

    fileprivate var uplinks: [String] {
        switch self {
        case .one, .privacy: ["up0"]
        case .two, .marks, .multipath: ["up0", "up1"]
        }
    }

    fileprivate var lines: [String] {
        switch self {
        case .one, .two, .multipath: []
        case .marks:
            [
                "route add default via 192.0.3.1 dev up1 table 100", "rule add pref 200 fwmark 7 lookup 100",
                "-6 route add default via 2001:db8:2::1 dev up1 table 100",
                "-6 rule add pref 200 fwmark 7 lookup 100",
            ]
        case .privacy:
            ["-6 addr add 2001:db8:1::77/64 dev up0 nodad", "-6 addr add 2001:db8:1::78/64 dev up0 nodad"]
        }
    }

    fileprivate var connections: [[String]] {
        guard self != .multipath else { return ConnectedHost.remotes.map { ["mptcp", $0] } }
        var connections: [[String]] = []
        for remote in ConnectedHost.remotes {
            connections += [["tcp", remote], ["udp", remote]]
            switch self {
            case .one, .multipath: break
            case .two: connections.append(["tcp", remote, "device=up1"])
            case .marks: connections += [["tcp", remote, "mark=7"], ["udp", remote, "mark=7"]]
            case .privacy where remote.contains(":"):
                connections += [
                    ["tcp", remote, "from=2001:db8:1::77"], ["udp", remote, "from=2001:db8:1::78"],
                ]
            case .privacy: break
            }
        }
        if self == .two {
            connections += [
                ["tcp", "198.51.100.1", "from=192.0.3.2"], ["tcp", "2001:db8:ff::1", "from=2001:db8:2::2"],
            ]
        }
        return connections
    }

    /// At least twenty kinds of changes, each of which can be undone.
    fileprivate var changes: [ConnectedHost.Change] {
        typealias Change = ConnectedHost.Change
        let routes = ConnectedHost.defaultRoutes(of: uplinks)
        var changes: [Change] = []
        for (number, link) in uplinks.enumerated() {
            let (own, own6) = ("192.0.\(number + 2).2/24", "2001:db8:\(number + 1)::2/64")
            let gateway = "192.0.\(number + 2).1"
            let addresses =
                ["addr replace \(own) dev \(link)"]
                + [own6, "fe80::2/64"].map { "-6 addr replace \($0) dev \(link) nodad" }
            changes += [
                Change(
                    name: "\(link) down", apply: ["link set \(link) down"],
                    undo: ["link set \(link) up"] + addresses + routes, links: [link]),
                Change(
                    name: "cable of \(link)", apply: ["far: link set \(link)-far down"],
                    undo: [
                        "far: link set \(link)-far up",
                        "far: -6 addr replace 2001:db8:\(number + 1)::1/64 dev \(link)-far nodad",
                        "far: -6 addr replace fe80::1/64 dev \(link)-far nodad",
                    ] + addresses + routes, links: [link]),
                Change(
                    name: "address of \(link)", apply: ["addr del \(own) dev \(link)"],
                    undo: addresses + routes),
                Change(
                    name: "IPv6 address of \(link)", apply: ["-6 addr del \(own6) dev \(link)"],
                    undo: addresses + routes),
                Change(
                    name: "default route of \(link)", apply: ["route del default via \(gateway) dev \(link)"],
                    undo: routes),
                Change(
                    name: "IPv6 default route of \(link)", apply: ["-6 route del default dev \(link)"],
                    undo: routes),
                Change(
                    name: "another address on \(link)",
                    apply: ["addr add 192.0.\(number + 2).3/24 dev \(link)"],
                    undo: ["addr del 192.0.\(number + 2).3/24 dev \(link)"] + addresses + routes),
                Change(
                    name: "another IPv6 address on \(link)",
                    apply: ["-6 addr add 2001:db8:\(number + 1)::3/64 dev \(link) nodad"],
                    undo: ["-6 addr del 2001:db8:\(number + 1)::3/64 dev \(link)"]),
                Change(
                    name: "\(own6) deprecated", apply: ["-6 addr change \(own6) dev \(link) preferred_lft 0"],
                    undo: ["-6 addr change \(own6) dev \(link) preferred_lft forever"]),
                Change(
                    name: "\(link) preferred",
                    apply: ["route add default via \(gateway) dev \(link) metric 10"],
                    undo: ["route del default via \(gateway) dev \(link) metric 10"]),
                Change(
                    name: "\(link) preferred for IPv6",
                    apply: ["-6 route add default via 2001:db8:\(number + 1)::1 dev \(link) metric 10"],
                    undo: ["-6 route del default via 2001:db8:\(number + 1)::1 dev \(link) metric 10"]),
                Change(
                    name: "preferred source on \(link)",
                    apply: [
                        "route add 198.51.100.0/24 via \(gateway) dev \(link) src 192.0.\(number + 2).2 metric 5"
                    ],
                    undo: ["route del 198.51.100.0/24 via \(gateway) dev \(link) metric 5"]),
                // At both ends: a port drops frames that are longer than its own MTU, which no route shows.
                Change(
                    name: "MTU of \(link)",
                    apply: ["link set \(link) mtu 1400", "far: link set \(link)-far mtu 1400"],
                    undo: ["link set \(link) mtu 1500", "far: link set \(link)-far mtu 1500"]),
            ]
        }
        for (type, metric) in [("unreachable", 3), ("prohibit", 2), ("blackhole", 1)] {
            changes += [
                Change(
                    name: type, apply: ["route add \(type) 198.51.100.1 metric \(metric)"],
                    undo: ["route del \(type) 198.51.100.1 metric \(metric)"]),
                Change(
                    name: "\(type) for IPv6", apply: ["-6 route add \(type) 2001:db8:ff::1 metric \(metric)"],
                    undo: ["-6 route del \(type) 2001:db8:ff::1 metric \(metric)"]),
            ]
        }
        for family in ["", "-6 "] {
            let remote = family.isEmpty ? "198.51.100.1" : "2001:db8:ff::1"
            let own = family.isEmpty ? "192.0.2.2" : "2001:db8:1::2"
            changes += [
                Change(
                    name: "\(family)rule about the destination",
                    apply: ["\(family)rule add pref 50 to \(remote) prohibit"],
                    undo: ["\(family)rule del pref 50"]),
                Change(
                    name: "\(family)rule about the source",
                    apply: ["\(family)rule add pref 60 from \(own) unreachable"],
                    undo: ["\(family)rule del pref 60"]),
                Change(
                    name: "\(family)rule about the port",
                    apply: ["\(family)rule add pref 70 ipproto tcp dport 7777 blackhole"],
                    undo: ["\(family)rule del pref 70"]),
                Change(
                    name: "\(family)rule about another mark",
                    apply: ["\(family)rule add pref 80 fwmark 9 prohibit"],
                    undo: ["\(family)rule del pref 80"]),
            ]
        }
        changes.append(
            Change(
                name: "an unrelated dummy",
                apply: [
                    "link add other type dummy", "link set other up", "addr add 203.0.113.1/24 dev other",
                ],
                undo: ["link del other"]))
        if uplinks.count == 2 {
            for (family, gateways) in [
                ("", ["192.0.2.1", "192.0.3.1"]), ("-6 ", ["2001:db8:1::1", "2001:db8:2::1"]),
            ] {
                let nexthops = zip(gateways, uplinks).map { "nexthop via \($0) dev \($1)" }
                changes.append(
                    Change(
                        name: "\(family)route with two nexthops",
                        apply: ["\(family)route add default metric 20 \(nexthops.joined(separator: " "))"],
                        undo: ["\(family)route del default metric 20"]))
            }
        }
        if let last = uplinks.dropFirst().last, Capability.vrf.blocker == nil {
            changes.append(
                Change(
                    name: "\(last) in a VRF",
                    apply: [
                        "link add red type vrf table 200", "link set red up", "link set \(last) master red",
                    ],
                    undo: [
                        "link del red", "addr replace 192.0.3.2/24 dev \(last)",
                        "-6 addr replace 2001:db8:2::2/64 dev \(last) nodad",
                        "-6 addr replace fe80::2/64 dev \(last) nodad",
                    ] + routes))
        }
        if self == .marks {
            changes.append(
                Change(
                    name: "mark prohibited", apply: ["rule add pref 40 fwmark 7 prohibit"],
                    undo: ["rule del pref 40"]))
        }
        if self == .privacy {
            for address in ["2001:db8:1::77/64", "2001:db8:1::78/64"] {
                changes += [
                    Change(
                        name: "\(address) deprecated",
                        apply: ["-6 addr change \(address) dev up0 preferred_lft 0"],
                        undo: ["-6 addr change \(address) dev up0 preferred_lft forever"]),
                    Change(
                        name: "\(address) gone", apply: ["-6 addr del \(address) dev up0"],
                        undo: ["-6 addr replace \(address) dev up0 nodad"]),
                ]
            }
        }
        return changes
    }
}
