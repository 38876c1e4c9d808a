// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The default path as a paragraph of text, or in JSON.
enum PathFormat {
    // MARK: Text

    /// Writes a path, or the error that kept it from being evaluated.
    ///
    /// What managers say about it follows at the end, and what identifies the network.
    static func writeText(
        _ result: Result<NetworkPath, ReachabilityError>,
        managers: HostManagers? = nil,
        identifies: Bool = false,
        to text: inout ByteBuffer
    ) {
        guard let path = try? result.get() else {
            return text.line("status", "unknown: error: \(result.failure?.description ?? "")")
        }
        let interfaces = path.availableInterfaces.map { "\($0.name) (\($0.type.rawValue))" }
        text.line("status", "\(path.status.rawValue): \(path.reason)")
        text.line("interfaces", list(interfaces))
        if !path.carriers.isEmpty { text.line("carriers", list(path.carriers.map(\.description))) }
        text.line("gateways", list(path.gateways.map(\.description)))
        text.line("IPv4", word(path.supportsIPv4))
        text.line("IPv6", word(path.supportsIPv6))
        text.line("DNS", path.reachesNameserver.map(word) ?? "unknown: recordings hold no name servers")
        text.line("expensive", word(path.isExpensive))
        text.line("constrained", word(path.isConstrained))
        for line in managers?.lines(about: path) ?? [] { text.line(line.label, line.value) }
        if identifies { text.line("identity", path.identity?.description ?? "unknown") }
    }

    private static func list(_ items: [String]) -> String {
        items.isEmpty ? "none" : items.joined(separator: ", ")
    }

    private static func word(_ value: Bool) -> String {
        value ? "yes" : "no"
    }

    // MARK: JSON

    /// Writes one object with every key; null stands for an unknown value.
    ///
    /// - Parameters:
    ///   - result: The path, or why it could not be evaluated.
    ///   - time: When it was found; `nil` writes no time.
    ///   - managers: What the managers of the network say; `nil` for a recording.
    ///   - identifies: Whether it has a member for what identifies the network.
    ///   - buffer: What it is written to.
    static func writeJSON(
        _ result: Result<NetworkPath, ReachabilityError>,
        at time: Recording.Time? = nil,
        managers: HostManagers? = nil,
        identifies: Bool = false,
        to buffer: inout ByteBuffer
    ) {
        let path = try? result.get()
        buffer.line { json in
            json.member("status", path?.status.rawValue)
            // The kernel gives no other.
            json.member("unsatisfiedReason", path?.status == .unsatisfied ? "notAvailable" : nil)
            json.member("interfaces", objects: path?.availableInterfaces ?? []) { interface, json in
                json.member("name", interface.name)
                json.member("index", interface.index)
                json.member("type", interface.type.rawValue)
                json.member("isUsed", path?.usedInterfaces.contains(interface))
            }
            json.carriers(path?.carriers ?? [])
            json.member("gateways", path?.gateways ?? [])
            json.member("nameservers", path?.nameservers ?? [])
            json.member("supportsIPv4", path?.supportsIPv4)
            json.member("supportsIPv6", path?.supportsIPv6)
            json.member("supportsDNS", path?.reachesNameserver)
            json.member("isExpensive", path?.isExpensive)
            json.member("isConstrained", path?.isConstrained)
            json.members(path?.flags ?? [])
            json.member("code", path?.reason.code.description)
            json.member("reason", path?.reason.description ?? "the path could not be evaluated")
            json.member("error", result.failure?.description)
            managers?.writeMember(about: path, to: &json)
            if identifies { json.member("identity", path?.identity?.description) }
            if let time { json.member("time", time.description) }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func line(_ label: String, _ value: String) {
        line(label, value, indentation: 13)
    }
}
