// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// What becomes of packets that are sent through a tunnel, by the counters of the interfaces below.
struct TunnelTestimony {
    /// How the library differs from that; `nil` if both agree.
    let difference: String?
    /// Whether the tunnel sends nothing: its outer packets cannot leave, or it does not carry these packets.
    let waits: Bool
    /// The exception that explains the difference; `nil` where none does.
    let exception: WitnessException?

    /// The interfaces that can carry a tunnel: the wires, and the loopback interface by a route that a program added.
    private static let carrierNames = NetworkGenerator.linkNames + ["lo"]
    private static let datagrams: UInt64 = 8
    /// How often a difference is looked at again: the kernel sends packets of its own.
    private static let repetitions = 3

    /// Sends datagrams, where the packets of a triple leave through one tunnel, and what carries it is known exactly.
    ///
    /// - Returns: What became of them; `nil` elsewhere.
    init?(_ triple: Triple, _ network: WitnessedNetwork) throws(ReachabilityError) {
        let report = try NetworkReachability(
            target: .address(triple.target), options: triple.options, source: network.source
        ).blockingReport()
        guard report.isInTunnel, let query = triple.queries.first else { return nil }
        for carrier in report.carriers {
            guard let remote = carrier.remote else { continue }
            var query = RouteQuery(destination: remote)
            query.mark = carrier.mark
            guard try network.steadyAnswer(to: query.forPacket) != nil else { return nil }
        }
        waits = [.tunnelWaits, .payloadNotCarried].contains(report.reason.code)
        // What a tunnel without a remote end drops is not known.
        if !waits, report.carriers.contains(where: { $0.remote == nil }) { return nil }
        let carriers = report.carriers.compactMap(\.interface?.name).filter(
            Self.carrierNames.contains)
        // The kernel chooses one of several nexthops by a hash, also one that cannot send.
        let isOpen = Set(report.carriers.map(\.tunnel.index)).count < report.carriers.count
        var difference: String?
        for _ in 0...Self.repetitions {
            guard let senders = Self.senders(query) else { return nil }
            difference = Self.difference(waits, Set(carriers), isOpen, senders)
            if difference == nil { break }
        }
        self.difference = difference
        let isForeign = report.carriers.contains {
            $0.reason?.code == .notOwnAddress && $0.remote?.family == .v6
        }
        exception = waits && isForeign && difference != nil ? .foreignTunnelEnd : nil
    }

    private static func difference(
        _ waits: Bool, _ carriers: Set<String>, _ isOpen: Bool, _ senders: Set<String>
    ) -> String? {
        // Outer packets without a carrier are delivered here.
        if !waits, carriers.isEmpty, senders == ["lo"] { return nil }
        // What the kernel discards, it answers with ICMPv6 messages to this host.
        let senders = waits ? senders.subtracting(["lo"]) : senders
        let names = senders.sorted().joined(separator: " and ")
        if waits { return senders.isEmpty ? nil : "nothing is sent, and packets leave through \(names)" }
        if isOpen, senders.isSubset(of: carriers) { return nil }
        if senders.isEmpty { return "the tunnel does not wait, and no packet leaves" }
        return senders == carriers ? nil : "packets leave through \(names), which the report does not say"
    }

    /// The interfaces that send what is sent to a socket; `nil` if it cannot connect.
    private static func senders(_ query: RouteQuery) -> Set<String>? {
        let before = sentPackets()
        guard SocketWitness.send(Int(datagrams), query) else { return nil }
        return Set(
            sentPackets().filter { $0.value >= before[$0.key, default: 0] + datagrams }.keys)
    }

    /// How many packets each of them has sent.
    private static func sentPackets() -> [String: UInt64] {
        guard let file = fopen("/proc/self/net/dev", "r") else { return [:] }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        var counts: [String: UInt64] = [:]
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let fields = text.split { $0 == ":" || $0 == " " || $0 == "\n" }
            // The name, eight counters of what was received, and those of what was sent: bytes, packets.
            guard fields.count > 10, carrierNames.contains(String(fields[0])) else { continue }
            counts[String(fields[0])] = UInt64(fields[10])
        }
        return counts
    }
}

extension ReachabilityReport {
    /// Whether packets are for one tunnel, and what carries it is known exactly.
    fileprivate var isInTunnel: Bool {
        guard flags.contains(.reachable) || reason.code == .payloadNotCarried, let name = interface?.name,
            NetworkGenerator.tunnelNames.contains(name), !carriers.isEmpty, carriers.allSatisfy(\.isExact)
        else { return false }
        // What is delivered to this host leaves through no wire.
        if carriers.contains(where: { $0.flags.contains(.isLocalAddress) }) { return false }
        return findings.count == 1 && findings[0].route?.nexthops.count == 1
    }
}
