// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording

/// The output of `netflags assert`: the expectations that do not hold as lines, or all as JSON objects.
struct AssertFormat {
    /// The name of the file of expectations.
    let file: String
    let isJSON: Bool
    /// The recording on which a change was tried, for the JSON rows; `nil` for none.
    var recording: String?

    /// Writes an expectation, and whether the answer meets it.
    func write(
        _ line: ExpectationFile.Line, _ answer: Answer, _ outcome: NetworkState.Expectation.Outcome,
        to buffer: inout ByteBuffer
    ) {
        guard !isJSON else { return buffer.line { members(of: line, outcome, answer.code, to: &$0) } }
        guard let reason = outcome.reason else { return }
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
                    members(of: line, span.outcome, span.code, to: &json)
                    json.member("from", span.start.description)
                    json.member("to", span.end.description)
                    json.member("cause", object: span.cause) { $1.members($0) }
                }
            }
            return
        }
        let broken = spans.filter { $0.outcome != .holds }
        guard !broken.isEmpty else { return }
        writeHead(line, to: &buffer)
        for span in broken {
            buffer.line(printable: "  \(span.start) to \(span.end): \(span.outcome.reason ?? "")")
            guard let cause = span.cause else { continue }
            buffer.line(printable: "    because \(cause.text)")
        }
    }

    private func writeHead(_ line: ExpectationFile.Line, to buffer: inout ByteBuffer) {
        buffer.line(printable: "\(file):\(line.number): \(line.expectation)")
    }

    /// The row of a recording that could not be queried.
    static func errorRow(_ error: String) -> KeyValuePairs<String, String?> {
        ["line": nil, "expectation": nil, "holds": nil, "code": nil, "reason": error]
    }

    private func members(
        of line: ExpectationFile.Line,
        _ outcome: NetworkState.Expectation.Outcome,
        _ code: String?,
        to json: inout ByteBuffer
    ) {
        if let recording { json.member("recording", recording) }
        json.member("line", line.number)
        json.member("expectation", line.expectation.description)
        json.member("holds", outcome.holds)
        json.member("code", code)
        json.member("reason", outcome.reason)
    }
}

extension NetworkState.Expectation {
    /// A span of time in which an expectation holds, or does not.
    struct Span: Hashable {
        let start: Recording.Time
        var end: Recording.Time
        /// The outcome at its start.
        ///
        /// The span continues if only the reason changes.
        let outcome: Outcome
        /// The reason code of the answer at its start; `nil` for an answer without a report.
        let code: String?
        /// The first event that caused the outcome; `nil` at the start, and after a span that is not recorded.
        let cause: ChangeCause?
    }

    /// The spans of a lane whose intervals end with any change of the report.
    ///
    /// Time that is not recorded belongs to no span.
    func spans(of lane: Timeline.Lane) -> [Span] {
        var spans: [Span] = []
        for interval in lane.intervals {
            guard let answer = interval.answer else { continue }
            let outcome = outcome(of: answer)
            if let last = spans.last, last.end == interval.start,
                last.outcome.exitStatus == outcome.exitStatus
            {
                spans[spans.count - 1].end = interval.end
            } else {
                spans.append(
                    Span(
                        start: interval.start, end: interval.end, outcome: outcome, code: answer.code,
                        cause: interval.cause))
            }
        }
        return spans
    }
}

extension NetworkState.Expectation.Outcome {
    /// Whether the expectation holds; `nil` if that is not known.
    var holds: Bool? {
        if case .undetermined = self { nil } else { self == .holds }
    }

    var exitStatus: ExitStatus { ExitStatus(isReachable: holds) }
}
