// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The default path in text or JSON.
struct PathOutput {
    let json: Bool

    /// Writes a path.
    func write(_ verdict: PathVerdict, to buffer: inout ByteBuffer) {
        if json {
            writeJSON(verdict, error: nil, to: &buffer)
        } else {
            writeText(verdict, to: &buffer)
        }
    }

    /// Writes that the question could not be answered; in text an error stands on standard error alone.
    func write(_ error: ReachabilityError, to buffer: inout ByteBuffer) {
        if json { writeJSON(nil, error: "\(error)", to: &buffer) }
    }

    // MARK: Text

    private func writeText(_ verdict: PathVerdict, to text: inout ByteBuffer) {
        let path = verdict.path
        let interfaces = path.availableInterfaces.map { "\($0.name) (\($0.type.rawValue))" }
        text.line("status", "\(path.status.rawValue): \(verdict.reason)")
        text.line("interfaces", Self.list(interfaces))
        text.line("gateways", Self.list(path.gateways.map(\.description)))
        text.line("IPv4", Self.word(path.supportsIPv4))
        text.line("IPv6", Self.word(path.supportsIPv6))
        text.line("DNS", path.reachesNameserver.map(Self.word) ?? "unknown: recordings name no servers")
        text.line("expensive", Self.word(path.isExpensive))
        text.line("constrained", Self.word(path.isConstrained))
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "none" : words.joined(separator: ", ")
    }

    private static func word(_ isSo: Bool) -> String {
        isSo ? "yes" : "no"
    }

    // MARK: JSON

    /// Writes one object; every key is always there, with null for what is not known.
    private func writeJSON(_ verdict: PathVerdict?, error: String?, to buffer: inout ByteBuffer) {
        let path = verdict?.path
        buffer.object { json in
            json.key("status")
            json.value(path?.status.rawValue)
            json.key("unsatisfiedReason")
            json.value(path?.status == .unsatisfied ? path?.unsatisfiedReason.rawValue : nil)
            json.key("interfaces")
            json.array { json in
                for interface in path?.availableInterfaces ?? [] { Self.write(interface, path, to: &json) }
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
            Self.write(path?.flags ?? [], to: &json)
            json.key("reason")
            json.value(verdict?.reason.description ?? "the question could not be answered")
            json.key("error")
            json.value(error)
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

    private static func write(_ flags: ReachabilityFlags, to json: inout ByteBuffer) {
        json.key("flags")
        json.array(flags.names)
        json.key("rawValue")
        json.value(flags.rawValue)
        json.key("letters")
        json.value(flags.letters)
        json.key("reachable")
        json.value(isNetworkReachable(flags: flags))
    }
}

extension ByteBuffer {
    /// Writes a JSON truth value, or null where nobody knows.
    fileprivate mutating func value(_ value: Bool?) {
        if let value { self.value(value) } else { null() }
    }

    fileprivate mutating func line(_ label: String, _ words: String) {
        append(label)
        append(spaces: 13 - label.utf8.count)
        append(printable: words)
        append(UInt8(ascii: "\n"))
    }
}
