// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// JSON Lines: one object a target, each on a line of its own.
struct JSONFormat: LineFormat {
    private let explains: Bool
    /// The members that depend on the flags alone, for the flags written last: most repeat.
    private var flagMembers = ByteBuffer()
    private var lastFlags: ReachabilityFlags?

    init(explains: Bool) {
        self.explains = explains
    }

    var isFlushedAtEachLine: Bool { true }

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        prepare(line.flags)
        buffer.object { json in
            json.key("target")
            json.value(line.target)
            json.separate()
            json.append(contentsOf: flagMembers)
            if case .success(let report) = line.result {
                write(report, to: &json)
            } else {
                writeNoReport(line, to: &json)
            }
            if let time = line.time {
                json.key("time")
                json.value(time.description)
            }
            if explains { JSONExplanation.write(try? line.result?.get(), to: &json) }
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private mutating func prepare(_ flags: ReachabilityFlags) {
        guard flags != lastFlags else { return }
        lastFlags = flags
        flagMembers.removeAll()
        flagMembers.members(flags)
    }

    private func write(_ report: ReachabilityReport, to json: inout ByteBuffer) {
        json.key("address")
        json.value(report.address)
        json.key("interface")
        json.value(report.interface?.name)
        json.key("interfaceType")
        json.value(report.interface?.type.rawValue)
        json.key("gateway")
        json.value(report.gateway)
        json.key("reason")
        json.value(report.reason.description)
        json.key("error")
        json.null()
    }

    private func writeNoReport(_ line: TargetLine, to json: inout ByteBuffer) {
        json.append(",\"address\":null,\"interface\":null,\"interfaceType\":null" as StaticString)
        json.append(",\"gateway\":null" as StaticString)
        json.key("reason")
        json.value(line.reason)
        json.key("error")
        if case .failure(let error) = line.result { json.value(error.description) } else { json.null() }
    }
}

extension ByteBuffer {
    /// Writes the members `flags`, `rawValue`, `letters` and `reachable`.
    mutating func members(_ flags: ReachabilityFlags) {
        key("flags")
        array(flags.names)
        key("rawValue")
        value(flags.rawValue)
        key("letters")
        value(flags.letters)
        key("reachable")
        value(isNetworkReachable(flags: flags))
    }

    /// Writes an address as a JSON string.
    ///
    /// Only a zone needs escapes: the name of an interface can hold any byte.
    mutating func value(_ address: IPAddress?) {
        guard let address else { return null() }
        guard address.zone == nil else { return value(address.description) }
        separate()
        append(UInt8(ascii: "\""))
        append(address)
        append(UInt8(ascii: "\""))
    }
}
