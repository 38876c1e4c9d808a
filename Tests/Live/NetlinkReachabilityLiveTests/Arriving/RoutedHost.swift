// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

/// A host with three uplinks to another network namespace, from which real packets come.
///
/// It has 192.0.2.2, 198.51.100.2 and 10.0.0.2, and 2001:db8:1::2 to 2001:db8:3::2. Neighbours need no ARP.
final class RoutedHost {
    static let uplinks = ["up0", "up1", "up2"]
    static let networks = ["192.0.2", "198.51.100", "10.0.0"]

    let host: TestNamespace
    let peer: TestNamespace
    /// How many packets were sent.
    private var count = 0

    /// What the library says of a packet, and what became of a real one.
    struct Outcome {
        /// The packet: `INTERFACE FROM TO`.
        let packet: [String]
        /// `delivered`, the name of the interface that it is forwarded through, or `dropped`.
        let said: String
        let code: String
        let text: String
        /// The same of the real packet.
        let seen: String
        /// How much `IPReversePathFilter` and `InAddrErrors` have risen.
        let filtered: Int
        let refused: Int

        /// How the library and the packet contradict each other; `nil` if they do not.
        var contradiction: String? {
            if said == "error" { return nil }
            guard said == seen else { return "\(packet.joined(separator: " ")): \(text), but it is \(seen)" }
            guard said == "dropped", !packet[2].contains(":") else { return nil }
            // A group that is joined has a filter, too.
            let isFilter = code == "reversePathFilter" || (code == "groupNotJoined" && filtered > 0)
            guard isFilter == (filtered > 0), (code == "notForwarding") == (refused > 0) else {
                return
                    "\(packet.joined(separator: " ")): \(text), but \(filtered) filtered, \(refused) refused"
            }
            return nil
        }
    }

    /// - Parameter isAddressed: Whether the interfaces get their addresses.
    /// - Throws: `NamespaceFailure` if a command fails.
    init(isAddressed: Bool = true) throws {
        host = try TestNamespace()
        peer = try host.makePeer()
        for group in ["all", "default"] { try peer.set("net/ipv6/conf/\(group)/disable_ipv6", "1") }
        for group in ["all", "default"] { try host.set("net/ipv4/conf/\(group)/rp_filter", "0") }
        for (number, name) in Self.uplinks.enumerated() {
            try host.wire(name, to: peer)
            try host.ip("link set \(name) address \(Self.hardware(number)) arp off")
            try host.set("net/ipv6/conf/\(name)/accept_ra", "0")
            if isAddressed {
                try host.address(
                    name, "\(Self.networks[number]).2/24", "2001:db8:\(number + 1)::2/64")
            }
        }
        for side in [host, peer] { try side.command(["watch-packets"]) }
    }

    private static func hardware(_ number: Int) -> String { "02:00:00:00:01:0\(number)" }

    /// Sets a setting of IPv4 of an interface.
    func set(_ name: String, _ setting: String, _ value: Int) throws {
        try host.set("net/ipv4/conf/\(name)/\(setting)", "\(value)")
    }

    /// Asks about a packet, sends it, and looks what became of it.
    func outcome(_ packet: [String], ports: (Int, Int) = (6_000, 7_000)) throws -> Outcome {
        count += 1
        let number = Self.uplinks.firstIndex(of: packet[0]) ?? 0
        let flow = ["protocol=17", "source-port=\(ports.0)", "port=\(ports.1)"]
        let answer = try host.command(["arriving"] + packet + flow)
        let said = answer[0] == "forwarded" ? answer[1] : answer[0]
        let before = try counters()
        let destination = Self.frame(to: packet[2]) ?? Self.hardware(number)
        try peer.command([
            "send-packet", "\(packet[0])-far", destination, packet[1], packet[2], "\(ports.0)", "\(ports.1)",
            "\(count)",
        ])
        // What follows the packet on its link shows that the kernel has taken it.
        try host.command(["seen", "after \(count)", packet[0]])
        var places: [String] = []
        if said == "delivered" {
            places = try host.command(["seen", "\(count)", "delivered"])
        } else if Self.uplinks.contains(said) {
            places = try peer.command(["seen", "\(count)", "\(said)-far"])
        }
        places += try host.command(["seen", "\(count)"]) + peer.command(["seen", "\(count)"])
        let after = try counters()
        let exit = Self.uplinks.first { places.contains("\($0)-far") }
        return Outcome(
            packet: packet, said: said, code: answer[2], text: answer[3],
            seen: places.contains("delivered") ? "delivered" : exit ?? "dropped",
            filtered: after.filtered - before.filtered, refused: after.refused - before.refused)
    }

    /// The hardware address of a group or a broadcast address; `nil` for others.
    private static func frame(to target: String) -> String? {
        let parts = target.split(separator: ".").compactMap { Int($0) }
        guard parts.count == 4 else { return nil }
        if parts[3] == 255 { return "ff:ff:ff:ff:ff:ff" }
        guard (224..<240).contains(parts[0]) else { return nil }
        let last = [parts[1] & 0x7F, parts[2], parts[3]].map { String($0, radix: 16) }
        return "01:00:5e:" + last.joined(separator: ":")
    }

    private func counters() throws -> (filtered: Int, refused: Int) {
        let lines = try host.shell("cat /proc/net/netstat /proc/net/snmp").split(separator: "\n")
        func value(_ protocolName: String, _ counter: String) -> Int {
            let rows = lines.filter { $0.hasPrefix("\(protocolName):") }.map { $0.split(separator: " ") }
            guard rows.count == 2, let place = rows[0].firstIndex(where: { $0 == counter }) else { return 0 }
            return Int(rows[1][place]) ?? 0
        }
        return (value("TcpExt", "IPReversePathFilter"), value("Ip", "InAddrErrors"))
    }
}
