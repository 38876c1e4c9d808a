// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

/// A host with three uplinks to another network namespace, from which real packets come.
///
/// It has 192.0.2.2, 198.51.100.2 and 10.0.0.2, and 2001:db8:1::2 to 2001:db8:3::2. Neighbours need no ARP.
final class RoutedHost {
    static let uplinks = ["up0", "up1", "up2"]
    static let networks = ["192.0.2", "198.51.100", "10.0.0"]
    static let bridge = "br0"
    /// The marks that ``marking`` sets on packets to these ports.
    static let marks = [7_007: 7, 7_008: 0x18]
    /// The command that makes a firewall set marks on packets that arrive.
    static let marking =
        "nft add table inet m; add chain inet m pre { type filter hook prerouting priority -150; }"
        + marks.sorted { $0.key < $1.key }.map {
            "; add rule inet m pre udp dport \($0.key) meta mark set \($0.value)"
        }.joined()

    /// The commands that make an uplink a port of the bridge.
    static func bridging(_ port: String) -> [String] {
        [
            "link add \(bridge) type bridge forward_delay 0 mcast_snooping 0",
            "link set \(bridge) address \(hardware(uplinks.firstIndex(of: port) ?? 0)) up",
            "link set \(port) master \(bridge)",
        ]
    }

    let host: TestNamespace
    let peer: TestNamespace
    /// A probe of a user without privilege in the network of the host; `nil` where the tests are such a user.
    private let unprivileged: TestNamespace?
    /// How many packets were sent.
    private var count = 0
    /// The uplink that is a port of the bridge.
    private var bridged: String?
    /// Whether ``marking`` was done.
    private var marks = false

    /// What the library says of a packet, and what became of a real one.
    struct Outcome {
        /// What the library says by the kernel's answers.
        let answer: ArrivingAnswer
        /// How the library contradicts the packet, the counters or itself; `nil` if it does not.
        let contradiction: String?
    }

    /// - Parameter isAddressed: Whether the interfaces get their addresses.
    /// - Throws: `NamespaceFailure` if a command fails.
    init(isAddressed: Bool = true) throws {
        host = try TestNamespace()
        peer = try host.makePeer()
        unprivileged = try host.unprivilegedProbe()
        for group in ["all", "default"] { try peer.set("net/ipv6/conf/\(group)/disable_ipv6", "1") }
        for group in ["all", "default"] { try host.set("net/ipv4/conf/\(group)/rp_filter", "0") }
        // Each ICMP error is sent.
        for name in ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"] { try host.set("net/\(name)", "0") }
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

    /// Creates the network of commands, of which some can fail: a rule can be there already, a kernel can lack VRFs.
    convenience init(steps: [String]) throws {
        try self.init(isAddressed: false)
        for step in steps { run(step) }
        if bridged != nil { try host.wait(for: Self.bridge, state: "UP") }
        // The kernel makes IPv6 addresses usable asynchronously.
        try host.wait(until: "all IPv6 addresses are this host's") {
            let own = try host.ip("-6 -o addr show scope global").split(separator: "\n").map {
                $0.split(separator: " ")[3].prefix { $0 != "/" }
            }
            let routes = own.isEmpty ? "" : try host.ip("-6 route show table all type local")
            return own.allSatisfy { routes.contains("local \($0) dev ") }
        }
    }

    private func run(_ step: String) {
        if step.hasPrefix("net/") {
            let words = step.split(separator: "=").map(String.init)
            try? host.set(words[0], words[1])
        } else if step.hasPrefix("nft ") {
            marks = (try? host.run(["nft", String(step.dropFirst(4))]))?.status == 0
        } else if (try? host.ip(step)) != nil, step.hasPrefix("link set ") {
            if step.hasPrefix("link set \(Self.bridge) ") { knowNeighbours() }
            if step.hasSuffix(" master \(Self.bridge)") {
                bridged = step.split(separator: " ").map(String.init)[2]
            }
        }
    }

    /// Gives the bridge the hardware addresses of its neighbours.
    ///
    /// Without ARP, all have that of the bridge, and packets to that do not leave through it.
    private func knowNeighbours() {
        _ = try? host.ip(
            ArrivingNetworks.neighbours.map {
                "neigh replace \($0) lladdr 02:00:00:00:02:00 dev \(Self.bridge) nud permanent"
            })
    }

    private static func hardware(_ number: Int) -> String { "02:00:00:00:01:0\(number)" }

    /// Sets a setting of IPv4 of an interface.
    func set(_ name: String, _ setting: String, _ value: Int) throws {
        try host.set("net/ipv4/conf/\(name)/\(setting)", "\(value)")
    }

    // MARK: Questions

    private func ask(_ command: String, _ packet: ArrivingPacket, in probe: TestNamespace? = nil) throws
        -> ArrivingAnswer
    {
        var options = [
            "protocol=17", "source-port=\(packet.sourcePort)", "port=\(packet.port)",
            "tos=\(packet.typeOfService)",
        ]
        if marks, let mark = Self.marks[packet.port] { options.append("mark=\(mark)") }
        let words = [packet.interface, packet.source, packet.destination]
        return ArrivingAnswer(try (probe ?? host).command([command] + words + options))
    }

    /// Notes the network, for questions to a recording of it.
    func record() throws { try host.command(["record"]) }

    /// Asks the kernel and the recording about a packet.
    ///
    /// - Returns: The recording's answer, and how they contradict each other; `nil` if they do not.
    func comparison(_ packet: ArrivingPacket) throws -> (recorded: ArrivingAnswer, contradiction: String?) {
        let (live, recorded) = (try ask("arriving", packet), try ask("recorded-arriving", packet))
        guard !live.agrees(withRecorded: recorded) else { return (recorded, nil) }
        return (recorded, "\(packet): \(live.text), but recorded \(recorded.text)")
    }

    /// Asks about a packet, sends it, and looks what became of it.
    func outcome(_ packet: ArrivingPacket) throws -> Outcome {
        try record()
        let answer = try ask("arriving", packet)
        let recorded = try comparison(packet)
        let ofUser = try unprivileged.map { try ask("arriving", packet, in: $0) } ?? answer
        let refutation = answer.outcome == "error" ? nil : try refutation(of: answer, packet)
        let contradiction =
            refutation ?? recorded.contradiction
            ?? (ofUser == answer ? nil : "without privilege \(ofUser.text)")
        return Outcome(
            answer: answer, contradiction: contradiction.map { "\(packet): \(answer.text), but \($0)" })
    }

    /// Sends a packet: how what becomes of it refutes an answer; `nil` if it does not.
    private func refutation(of answer: ArrivingAnswer, _ packet: ArrivingPacket) throws -> String? {
        count += 1
        // The kernel forwards to an interface without a carrier, too, where the packet is lost.
        let isLost = answer.outcome == "forwarded" && answer.code == "noCarrier"
        let said = isLost ? "dropped" : answer.place == Self.bridge ? bridged ?? "" : answer.place
        let number = Self.uplinks.firstIndex(of: packet.interface) ?? 0
        let before = try PacketCounters(of: host)
        try peer.command([
            "send-packet", "\(packet.interface)-far",
            Self.group(of: packet.destination) ?? Self.hardware(number), packet.source, packet.destination,
            "\(packet.sourcePort)", "\(packet.port)", "\(packet.typeOfService)", "\(count)",
        ])
        // What follows the packet on its link shows that the kernel has taken it.
        try host.command(["seen", "after \(count)", packet.interface])
        if said == "delivered" {
            try host.command(["seen", "\(count)", "delivered"])
        } else if Self.uplinks.contains(said) {
            try peer.command(["seen", "\(count)", "\(said)-far"])
        }
        let risen = try PacketCounters(of: host).risen(since: before)
        let places = try host.command(["seen", "\(count)"]) + peer.command(["seen", "\(count)"])
        let exit = Self.uplinks.first { places.contains("\($0)-far") }
        let seen = places.contains("delivered") ? "delivered" : exit ?? "dropped"
        guard said == seen else { return "it is \(seen)" }
        guard answer.outcome == "dropped" else { return nil }
        let errors = places.filter { $0.hasPrefix("icmp ") }.map { String($0.dropFirst(5)) }
        return answer.refutation(risen, errors: errors, isIPv6: packet.isIPv6)
    }

    /// The hardware address of a group and of all hosts of the link; `nil` for other addresses, also for the broadcast
    /// address of a network, which a router sends to this host alone.
    private static func group(of target: String) -> String? {
        let parts = target.split(separator: ".").compactMap { Int($0) }
        guard parts.count == 4 else { return nil }
        if parts == [255, 255, 255, 255] { return "ff:ff:ff:ff:ff:ff" }
        guard (224..<240).contains(parts[0]) else { return nil }
        let last = [parts[1] & 0x7F, parts[2], parts[3]].map { String($0, radix: 16) }
        return "01:00:5e:" + last.joined(separator: ":")
    }
}
