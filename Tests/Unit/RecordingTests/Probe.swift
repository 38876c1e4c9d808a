// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A query to the kernel, and both its answers.
struct Probe: Decodable, Sendable {
    /// What the kernel said.
    struct Answer: Decodable, Sendable {
        var errno: Int32
        var type: String?
        var oif: String?
        var ifindex: UInt32?
        var gateway: String?
        var via: String?
        var table: UInt32?
        /// RTM_F bits, and RTNH_F bits of the only nexthop in the low byte.
        var flags: UInt32?
        var dst: String?
        var priority: UInt32?
        var nexthops: [Nexthop]?
    }

    struct Nexthop: Decodable, Sendable {
        var oif: String?
        var ifindex: UInt32?
        var gateway: String?
        var via: String?
        var flags: UInt8?
    }

    var target: String
    var oif: String?
    var plain: Answer
    var fibmatch: Answer
}

extension RecordedNetwork {
    func probes() throws -> [Probe] {
        try cached(in: Self.probes) {
            let decoder = JSONDecoder()
            return try read("oracle.jsonl").split(separator: UInt8(ascii: "\n")).map {
                try decoder.decode(Probe.self, from: Data($0))
            }
        }
    }
}

extension Probe {
    /// A way out that an answer names.
    struct Way: Hashable, CustomStringConvertible {
        var interface: UInt32
        var gateway: String?

        var description: String { "\(gateway ?? "direct") dev \(interface)" }
    }
}

extension Probe.Answer {
    /// The nexthops of the answer, all of an entry.
    var ways: Set<Probe.Way> {
        if let nexthops, !nexthops.isEmpty {
            return Set(nexthops.map { Probe.Way(interface: $0.ifindex ?? 0, gateway: $0.gateway ?? $0.via) })
        }
        return ifindex.map { [Probe.Way(interface: $0, gateway: gateway ?? via)] } ?? []
    }

    /// The RTNH_F bits of the only nexthop.
    var nexthopFlags: UInt8 { UInt8(truncatingIfNeeded: flags ?? 0) }
}
