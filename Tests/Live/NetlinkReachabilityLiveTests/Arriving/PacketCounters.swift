// SPDX-License-Identifier: Apache-2.0

import TestNamespaces

/// The kernel's counters of packets by name, such as `Ip.InAddrErrors`, `Ip6InNoRoutes` and `rt_cache.in_no_route`.
struct PacketCounters {
    private var values: [String: Int] = [:]

    init(of host: TestNamespace) throws {
        let texts = try host.command(
            ["read"] + ["netstat", "snmp", "snmp6", "stat/rt_cache"].map { "/proc/net/\($0)" })
        let tables = texts.map { text in
            text.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        }
        for rows in tables[...1] {
            for (names, numbers) in zip(rows, rows.dropFirst()) where names.first == numbers.first {
                for (name, number) in zip(names, numbers).dropFirst() {
                    values[names[0].dropLast() + "." + name] = Int(number)
                }
            }
        }
        for row in tables[2] where row.count == 2 { values[row[0]] = Int(row[1]) }
        // A row for each processor.
        for row in tables[3].dropFirst() {
            for (name, number) in zip(tables[3][0], row) {
                values["rt_cache.\(name)", default: 0] += Int(number, radix: 16) ?? 0
            }
        }
    }

    /// The counters that have risen since then.
    func risen(since other: Self) -> Set<String> {
        Set(values.filter { $0.value > other.values[$0.key, default: 0] }.keys)
    }
}

extension ArrivingAnswer {
    /// Counters of a network namespace that rise with a packet if and only if it is dropped for this reason.
    private func expected(isIPv6: Bool) -> [(counter: String, rises: Bool)] {
        guard isIPv6 else {
            return [
                ("TcpExt.IPReversePathFilter", code == "reversePathFilter"),
                ("Ip.InAddrErrors", code == "notForwarding"), ("IpExt.InNoRoutes", icmp == "3/0"),
            ]
        }
        return [
            ("Ip6InDiscards", code == "ipv6Off"), ("Ip6InHdrErrors", code.hasPrefix("martian")),
            ("Ip6InAddrErrors", code == "notForwarding" || code == "scopedSource"),
            ("Ip6InNoRoutes", icmp == "1/0" || icmp == "1/1"),
        ]
    }

    /// A counter of the whole machine that rises with a packet dropped for this reason, and with those of others.
    private var common: String? {
        switch code {
        case "martianSource", "ownSource": "rt_cache.in_martian_src"
        case "martianDestination": "rt_cache.in_martian_dst"
        case "blackhole": "rt_cache.in_no_route"
        default: nil
        }
    }

    /// How the counters that have risen with a dropped packet, or the errors that its sender has got, refute the
    /// reason; `nil` if they do not.
    func refutation(_ risen: Set<String>, errors: [String], isIPv6: Bool) -> String? {
        for (counter, rises) in expected(isIPv6: isIPv6) where risen.contains(counter) != rises {
            // A group that is joined has a filter, too.
            if code == "groupNotJoined", counter == "TcpExt.IPReversePathFilter" { continue }
            return rises ? "\(counter) does not rise" : "\(counter) rises"
        }
        if !isIPv6, let common, !risen.contains(common) { return "\(common) does not rise" }
        // The sender gets none without a way back, and within the kernel's limit.
        if let other = errors.first(where: { $0 != icmp }) { return "the sender gets ICMP \(other)" }
        let isSent = risen.contains(isIPv6 ? "Icmp6OutDestUnreachs" : "Icmp.OutDestUnreachs")
        return icmp == nil && isSent ? "an ICMP error is sent" : nil
    }
}
