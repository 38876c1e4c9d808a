// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The output of `netflags diff`: a few lines or a JSON object per target.
struct DifferenceFormat {
    let text: DifferenceText
    let isJSON: Bool
    /// Who requested a change; `nil` if it is unknown.
    var origin: (NetworkDifference) -> Recording.Event.Origin? = { _ in nil }
    /// The recording on which a change was tried, for the JSON rows; `nil` for none.
    var recording: String?
    var isColoured = Output.standard.showsColour

    func write(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        isJSON ? writeJSON(found, to: &buffer) : writeText(found, to: &buffer)
    }

    /// The text if there are no causes.
    private static let noCause = "unknown: the answers have read nothing that differs"

    private static let tooManyCauses =
        "unknown: too many links and addresses differ to search the cause: compare states with fewer changes between them"

    // MARK: Text

    private func writeText(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        buffer.line(printable: found.query.label)
        let isKnown = found.mistake == nil
        append("-", found.old, .red, isKnown, to: &buffer)
        append("+", found.new, .green, isKnown, to: &buffer)
        for name in found.lostPaths {
            buffer.line(
                printable:
                    "  some packets are lost: \(name) has no carrier, and the kernel's hash goes on using it")
        }
        guard !found.isUndetermined else { return }
        for choice in found.openChoices {
            buffer.line(printable: "  or another path: \(choice)")
        }
        for cause in found.causes {
            let origin = origin(cause).map { " \($0)" } ?? ""
            buffer.line(printable: "  because \(text.words(cause).sentence)\(origin)")
        }
        if found.causes.isEmpty {
            buffer.line(printable: "  because \(found.hasTooManyCauses ? Self.tooManyCauses : Self.noCause)")
        }
    }

    private func append(
        _ sign: String, _ answer: Answer, _ colour: Colour, _ isKnown: Bool, to buffer: inout ByteBuffer
    ) {
        buffer.append(in: isColoured ? colour : nil) { $0.append(sign) }
        buffer.append(" ")
        switch answer {
        case .success(let report):
            let word = !isKnown ? "?  " : report.isReachable ? "yes" : "no "
            buffer.line(printable: "\(report.flags.letters)  \(word)  \(report.reason)")
        case .failure(let error): buffer.line(printable: "-- -------  ?    error: \(error)")
        }
    }

    // MARK: JSON

    private func writeJSON(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        buffer.line { json in
            if let recording { json.member("recording", recording) }
            json.member("target", found.query.text)
            json.member("family", found.query.family?.description)
            json.member("old", object: found.old) { $1.members($0, reason: $0.reason) }
            json.member("new", object: found.new) { $1.members($0, reason: $0.reason) }
            if recording != nil { json.member("error", String?.none) }
            json.member("causes", objects: found.causes.isEmpty ? nil : found.causes) { cause, json in
                let (noun, sentence) = text.words(cause)
                json.member("kind", noun)
                json.member("change", cause.kind.rawValue)
                json.members(origin(cause))
                json.member("description", sentence)
            }
            if !found.lostPaths.isEmpty { json.member("lostPaths", found.lostPaths) }
            if !found.openChoices.isEmpty { json.member("openChoices", found.openChoices) }
        }
    }

    /// The row of a recording on which the change could not be tried.
    static func errorRow(_ error: String) -> KeyValuePairs<String, String?> {
        ["target": nil, "family": nil, "old": nil, "new": nil, "error": error, "causes": nil]
    }
}

extension ByteBuffer {
    /// Writes the members from `flags` to `error`.
    ///
    /// Without an answer, there are no flags.
    mutating func members(_ answer: Answer?, reason: String) {
        members(answer?.report?.flags ?? [])
        pathMembers(answer, reason: reason)
    }

    /// Writes the members from `interface` to `error`.
    mutating func pathMembers(_ answer: Answer?, reason: String) {
        let report = answer?.report
        pathMembers(
            report?.interface, hasType: false, report?.gateway, report?.reason, reason, answer?.failure)
    }
}
