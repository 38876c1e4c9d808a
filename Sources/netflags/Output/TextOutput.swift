// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// Text for people: one line for each answer, in columns.
///
/// Target, letters (`WR ctiCDld`), yes or no, the address that decided where a name was asked about,
/// interface, gateway, reason.
struct TextOutput: AnswerFormat {
    private let targetWidth: Int
    /// Whether answers can be about names, so that the address says something new.
    private let showsAddress: Bool
    private let isColoured: Bool
    private let explains: Bool
    private var reasons = ReasonTexts()

    init(_ question: CheckQuestion, isColoured: Bool) {
        let readsInput = question.targets.contains("-")
        let widest = question.targets.map(\.unicodeScalars.count).max() ?? 0
        targetWidth = min(max(widest, readsInput ? 20 : 0), 48)
        showsAddress = readsInput || question.targets.contains { IPAddress($0) == nil }
        self.isColoured = isColoured
        explains = question.explains
    }

    /// Whether an output should be coloured: a terminal that can, and nobody who asked not to (NO_COLOR).
    static func wantsColour(_ output: Output) -> Bool {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
        let refusal = getenv("NO_COLOR").map { String(cString: $0) } ?? ""
        return refusal.isEmpty && terminal != "dumb" && output.isTerminal
    }

    mutating func write(_ answer: Answer, to buffer: inout ByteBuffer) {
        if let time = answer.time {
            buffer.append(time.description)
            buffer.append(spaces: 2)
        }
        append(column: answer.target, width: targetWidth, to: &buffer)
        switch answer.outcome {
        case .report(let report):
            write(report, to: &buffer)
        case .failure(let message):
            append(verdict: .unknown, [], to: &buffer)
            buffer.append("error: " as StaticString)
            buffer.append(printable: message)
            buffer.append(UInt8(ascii: "\n"))
        case .passing(let flags):
            append(verdict: Verdict(flags), flags, to: &buffer)
            buffer.append(Answer.passingReason)
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    private mutating func write(_ report: ReachabilityReport, to buffer: inout ByteBuffer) {
        append(verdict: Verdict(report.flags), report.flags, to: &buffer)
        if showsAddress { append(column: report.address, to: &buffer) }
        append(column: report.interface?.name ?? "-", width: 8, to: &buffer)
        append(column: report.gateway, to: &buffer)
        buffer.append(contentsOf: reasons.text(of: report.reason))
        buffer.append(UInt8(ascii: "\n"))
        if explains { TextExplanation.write(report, to: &buffer) }
    }

    // MARK: Columns

    private mutating func append(
        verdict: Verdict,
        _ flags: ReachabilityFlags,
        to buffer: inout ByteBuffer
    ) {
        if isColoured { buffer.append(verdict.colour) }
        buffer.append(flags.letters)
        buffer.append("  " as StaticString)
        buffer.append(verdict.word)
        if isColoured { buffer.append("\u{1B}[0m" as StaticString) }
        buffer.append("  " as StaticString)
    }

    private func append(column text: String, width: Int, to buffer: inout ByteBuffer) {
        let start = buffer.bytes.count
        buffer.append(printable: text)
        // A column is as wide as it has characters, which are as many as bytes that begin one.
        let characters = buffer.bytes[start...].reduce(into: 0) { $0 += $1 & 0xC0 == 0x80 ? 0 : 1 }
        buffer.append(spaces: width - characters)
        buffer.append("  " as StaticString)
    }

    private func append(column address: IPAddress?, to buffer: inout ByteBuffer) {
        let start = buffer.bytes.count
        if let address { buffer.append(address) } else { buffer.append(UInt8(ascii: "-")) }
        buffer.append(spaces: start + 15 - buffer.bytes.count)
        buffer.append("  " as StaticString)
    }
}

extension TextOutput {
    /// What an answer comes down to.
    private enum Verdict {
        case yes
        /// There is a way, but only after somebody makes a connection.
        case notYet
        case no
        case unknown

        init(_ flags: ReachabilityFlags) {
            self = isNetworkReachable(flags: flags) ? .yes : flags.contains(.reachable) ? .notYet : .no
        }

        var word: StaticString {
            switch self {
            case .yes: "yes"
            case .notYet, .no: "no "
            case .unknown: "?  "
            }
        }

        var colour: StaticString {
            switch self {
            case .yes: "\u{1B}[32m"
            case .notYet, .unknown: "\u{1B}[33m"
            case .no: "\u{1B}[31m"
            }
        }
    }
}
