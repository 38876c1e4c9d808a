// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// The output of `netflags diff`: a few lines or a JSON object a target.
struct DifferenceFormat {
    let text: DifferenceText
    let isJSON: Bool
    let isColoured: Bool

    func write(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        if isJSON {
            writeJSON(found, to: &buffer)
        } else {
            writeText(found, to: &buffer)
        }
    }

    /// What stands where the causes would.
    private static let noCause = "no link, address, route or rule: the recordings do not hold what changed"

    // MARK: Text

    private func writeText(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        buffer.append(printable: found.question.label)
        buffer.append(UInt8(ascii: "\n"))
        append("-", found.old, .red, to: &buffer)
        append("+", found.new, .green, to: &buffer)
        guard !found.isUndetermined else { return }
        for cause in found.causes ?? [] { because(text.sentence(cause), to: &buffer) }
        if found.causes?.isEmpty ?? true { because(Self.noCause, to: &buffer) }
    }

    private func because(_ sentence: String, to buffer: inout ByteBuffer) {
        buffer.append("  because " as StaticString)
        buffer.append(printable: sentence)
        buffer.append(UInt8(ascii: "\n"))
    }

    private func append(
        _ sign: StaticString,
        _ answer: TargetDifference.Answer,
        _ colour: Colour,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(in: isColoured ? colour : nil) { $0.append(sign) }
        buffer.append(UInt8(ascii: " "))
        switch answer {
        case .success(let report):
            buffer.append(report.flags.letters)
            buffer.append(report.isReachable ? "  yes  " : "  no   ")
            buffer.append(printable: report.reason.description)
        case .failure(let error):
            buffer.append("---------  ?    error: ")
            buffer.append(printable: error.description)
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    // MARK: JSON

    private func writeJSON(_ found: TargetDifference, to buffer: inout ByteBuffer) {
        buffer.object { json in
            json.key("target")
            json.value(found.question.text)
            json.key("family")
            json.value(found.question.family?.description)
            json.key("old")
            write(found.old, to: &json)
            json.key("new")
            write(found.new, to: &json)
            json.key("causes")
            guard let causes = found.causes else { return json.null() }
            json.array { json in
                for cause in causes {
                    json.object { json in
                        json.key("kind")
                        json.value(cause.noun)
                        json.key("change")
                        json.value(cause.kind.rawValue)
                        json.key("description")
                        json.value(text.sentence(cause))
                    }
                }
            }
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private func write(_ answer: TargetDifference.Answer, to json: inout ByteBuffer) {
        let report = try? answer.get()
        json.object { json in
            json.members(report?.flags ?? [])
            json.key("interface")
            json.value(report?.interface?.name)
            json.key("gateway")
            json.value(report?.gateway)
            json.key("reason")
            json.value(report?.reason.description ?? "the target could not be evaluated")
            json.key("error")
            if case .failure(let error) = answer { json.value(error.description) } else { json.null() }
        }
    }
}
