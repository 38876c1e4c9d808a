// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The default path as a paragraph of text, or in JSON.
enum PathFormat {
    // MARK: Text

    /// Writes a path, or the error that kept it from being evaluated.
    static func writeText(_ result: Result<PathVerdict, ReachabilityError>, to text: inout ByteBuffer) {
        switch result {
        case .success(let verdict): writeText(verdict, to: &text)
        case .failure(let error): text.line("status", "unknown: error: \(error)")
        }
    }

    private static func writeText(_ verdict: PathVerdict, to text: inout ByteBuffer) {
        let path = verdict.path
        let interfaces = path.availableInterfaces.map { "\($0.name) (\($0.type.rawValue))" }
        text.line("status", "\(path.status.rawValue): \(verdict.reason)")
        text.line("interfaces", list(interfaces))
        text.line("gateways", list(path.gateways.map(\.description)))
        text.line("IPv4", word(path.supportsIPv4))
        text.line("IPv6", word(path.supportsIPv6))
        text.line("DNS", path.reachesNameserver.map(word) ?? "unknown: recordings hold no name servers")
        text.line("expensive", word(path.isExpensive))
        text.line("constrained", word(path.isConstrained))
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
    ///   - buffer: What it is written to.
    static func writeJSON(
        _ result: Result<PathVerdict, ReachabilityError>,
        at time: Timestamp? = nil,
        to buffer: inout ByteBuffer
    ) {
        let verdict = try? result.get()
        let path = verdict?.path
        buffer.object { json in
            json.key("status")
            json.value(path?.status.rawValue)
            json.key("unsatisfiedReason")
            json.value(path?.status == .unsatisfied ? path?.unsatisfiedReason.rawValue : nil)
            json.key("interfaces")
            json.array { json in
                for interface in path?.availableInterfaces ?? [] { write(interface, path, to: &json) }
            }
            json.key("gateways")
            json.array((path?.gateways ?? []).map(\.description))
            json.key("supportsIPv4")
            json.value(path?.supportsIPv4)
            json.key("supportsIPv6")
            json.value(path?.supportsIPv6)
            json.key("supportsDNS")
            json.value(path?.reachesNameserver)
            json.key("isExpensive")
            json.value(path?.isExpensive)
            json.key("isConstrained")
            json.value(path?.isConstrained)
            json.members(path?.flags ?? [])
            json.key("reason")
            json.value(verdict?.reason.description ?? "the path could not be evaluated")
            json.key("error")
            if case .failure(let error) = result { json.value(error.description) } else { json.null() }
            if let time {
                json.key("time")
                json.value(time.description)
            }
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private static func write(
        _ interface: NetworkInterface,
        _ path: NetworkPath?,
        to json: inout ByteBuffer
    ) {
        json.object { json in
            json.key("name")
            json.value(interface.name)
            json.key("index")
            json.value(interface.index)
            json.key("type")
            json.value(interface.type.rawValue)
            json.key("isUsed")
            json.value(path?.usedInterfaces.contains(interface))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func line(_ label: String, _ value: String) {
        line(label, value, indentation: 13)
    }
}
