// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// JSON Lines: one object for each answer, on a line of its own.
struct JSONOutput: AnswerFormat {
    private let explains: Bool
    /// The three members that follow from the flags alone, of the flags written last: most repeat.
    private var members = ByteBuffer()
    private var flags: ReachabilityFlags?

    init(explains: Bool) {
        self.explains = explains
    }

    var isFlushedAtEachAnswer: Bool { true }

    mutating func write(_ answer: Answer, to buffer: inout ByteBuffer) {
        prepare(answer.flags)
        buffer.object { json in
            json.key("target")
            json.value(answer.target)
            json.append(contentsOf: members)
            switch answer.outcome {
            case .report(let report): write(report, to: &json)
            case .failure(let message):
                writeNothing("the question could not be answered", to: &json)
                json.value(message)
            case .passing:
                writeNothing(Answer.passingReason, to: &json)
                json.null()
            }
            if let time = answer.time {
                json.key("time")
                json.value(time.description)
            }
            if explains { explain(answer.outcome, to: &json) }
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private mutating func prepare(_ flags: ReachabilityFlags) {
        guard flags != self.flags else { return }
        self.flags = flags
        members.removeAll()
        members.append(",\"flags\":" as StaticString)
        members.array(flags.names)
        members.key("rawValue")
        members.value(flags.rawValue)
        members.key("letters")
        members.value(flags.letters)
        members.key("reachable")
        members.value(isNetworkReachable(flags: flags))
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

    /// Writes the members of an answer without a report, up to the error's key.
    private func writeNothing(_ reason: StaticString, to json: inout ByteBuffer) {
        json.append(",\"address\":null,\"interface\":null,\"interfaceType\":null" as StaticString)
        json.append(",\"gateway\":null,\"reason\":\"" as StaticString)
        json.append(reason)
        json.append(UInt8(ascii: "\""))
        json.key("error")
    }

    private func explain(_ outcome: Answer.Outcome, to json: inout ByteBuffer) {
        if case .report(let report) = outcome {
            JSONExplanation.write(report, to: &json)
        } else {
            JSONExplanation.writeNone(to: &json)
        }
    }
}

extension Answer {
    /// The flags; none where the question could not be answered.
    fileprivate var flags: ReachabilityFlags {
        switch outcome {
        case .report(let report): report.flags
        case .failure: []
        case .passing(let flags): flags
        }
    }
}

extension ByteBuffer {
    /// Writes an address as a JSON string.
    ///
    /// Nothing in it needs an escape but the name of an interface in its zone, which can hold anything.
    mutating func value(_ address: IPAddress?) {
        guard let address else { return null() }
        guard address.zone == nil else { return value(address.description) }
        separate()
        append(UInt8(ascii: "\""))
        append(address)
        append(UInt8(ascii: "\""))
    }
}
