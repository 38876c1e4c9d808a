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
        buffer.line(printable: "  \(reason)")
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
            buffer.line(printable: "  \(span.start) to \(span.end): \(span.verdict.reason ?? "")")
            guard let cause = span.cause else { continue }
            buffer.line(printable: "    because \(cause.text)")
        }
    }

    private func writeHead(_ line: ExpectationFile.Line, to buffer: inout ByteBuffer) {
        buffer.line(printable: "\(file):\(line.number): \(line.expectation)")
    }
}

extension ByteBuffer {
    fileprivate mutating func members(
        _ line: ExpectationFile.Line, _ verdict: NetworkState.Expectation.Verdict
    ) {
        member("line", line.number)
        member("expectation", line.expectation.description)
        member("holds", verdict.holds)
        member("reason", verdict.reason)
    }
}
