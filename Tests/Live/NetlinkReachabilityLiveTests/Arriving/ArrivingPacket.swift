// SPDX-License-Identifier: Apache-2.0

/// A UDP packet that arrives on an interface of a host.
struct ArrivingPacket: CustomStringConvertible {
    let interface: String
    let source: String
    let destination: String
    var sourcePort = 6_000
    var port = 7_000
    var typeOfService = 0

    init(_ interface: String, _ source: String, _ destination: String) {
        (self.interface, self.source, self.destination) = (interface, source, destination)
    }

    var isIPv6: Bool { destination.contains(":") }

    var description: String {
        "\(interface) \(source) port \(sourcePort) to \(destination) port \(port) tos \(typeOfService)"
    }
}

/// What the library says of a packet that arrives.
struct ArrivingAnswer: Equatable {
    /// `delivered`, `forwarded`, `dropped`, or `error`.
    let outcome: String
    /// The interface that it is forwarded through; empty if that is not known.
    let interface: String
    let code: String
    let text: String

    init(_ fields: [String]) {
        (outcome, interface, code, text) = (fields[0], fields[1], fields[2], fields[3])
    }

    /// Where the packet ends: `delivered`, the name of the interface that it is forwarded through, `dropped`, or
    /// `error`.
    var place: String { outcome == "forwarded" ? interface : outcome }

    /// The type and the code of the ICMP error that the sender of a dropped packet gets; `nil` for none.
    var icmp: String? {
        text.firstRange(of: "; the sender gets ICMP ").map { String(text[$0.upperBound...]) }
    }

    /// Whether a recording's answer is that of the kernel, which this one is, or leaves it open.
    func agrees(withRecorded recorded: Self) -> Bool {
        if recorded.outcome == "error" { return recorded.code == "undecided" }
        // A recording does not contain the hash by which a kernel chooses one of several nexthops.
        if outcome == "forwarded", recorded.outcome == outcome, recorded.interface.isEmpty {
            return recorded.text.split(separator: " ").contains { $0 == interface }
        }
        return self == recorded
    }
}
