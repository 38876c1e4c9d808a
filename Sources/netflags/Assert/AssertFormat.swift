// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The output of `netflags assert`: the lines that do not hold, or a JSON object for each.
struct AssertFormat {
    /// The name of the file of expectations.
    let file: String
    let isJSON: Bool

    /// Writes an expectation, and whether it holds.
    func write(
        _ line: ExpectationFile.Line, _ verdict: NetworkState.Expectation.Verdict, to buffer: inout ByteBuffer
    ) {
        guard !isJSON else { return buffer.line { $0.members(line, verdict) } }
        guard let reason = verdict.reason else { return }
        writeHead(line, to: &buffer)
        buffer.append(printable: "  \(reason)")
        buffer.append(UInt8(ascii: "\n"))
    }

    /// Writes an expectation, and the spans in which it does not hold.
    func write(
        _ line: ExpectationFile.Line, _ spans: [NetworkState.Expectation.Span], to buffer: inout ByteBuffer
    ) {
        guard !isJSON else {
            for span in spans {
                buffer.line { json in
                    json.members(line, span.verdict)
                    json.member("from", span.start.description)
                    json.member("to", span.end.description)
                    json.member("cause", object: span.cause) { $1.members($0) }
                }
            }
            return
        }
        let broken = spans.filter { $0.verdict != .holds }
        guard !broken.isEmpty else { return }
        writeHead(line, to: &buffer)
        for span in broken {
            buffer.append(printable: "  \(span.start) to \(span.end): \(span.verdict.reason ?? "")")
            buffer.append(UInt8(ascii: "\n"))
            guard let cause = span.cause else { continue }
            buffer.append(printable: "    because \(cause.text)")
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    private func writeHead(_ line: ExpectationFile.Line, to buffer: inout ByteBuffer) {
        buffer.append(printable: "\(file):\(line.number): \(line.expectation)")
        buffer.append(UInt8(ascii: "\n"))
    }
}

extension ByteBuffer {
    fileprivate mutating func members(
        _ line: ExpectationFile.Line, _ verdict: NetworkState.Expectation.Verdict
    ) {
        member("line", line.number)
        member("expectation", line.expectation.description)
        var holds: Bool? = verdict == .holds
        if case .undetermined = verdict { holds = nil }
        member("holds", holds)
        member("reason", verdict.reason)
    }
}
