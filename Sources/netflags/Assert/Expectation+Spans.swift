// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

extension NetworkState.Expectation {
    /// A time in which an expectation holds, or does not.
    struct Span: Hashable {
        let start: Recording.Time
        var end: Recording.Time
        /// That of its start: a span goes on when only the reason changes.
        let verdict: Verdict
        /// The first event that made it so; `nil` at the start, and after a time that is not recorded.
        let cause: Timeline.Cause?
    }

    /// The spans of a lane whose intervals end with any change of the report.
    ///
    /// A time that is not recorded belongs to none.
    func spans(of lane: Timeline.Lane) -> [Span] {
        var spans: [Span] = []
        for interval in lane.intervals {
            guard let answer = interval.answer else { continue }
            let verdict = verdict(on: answer)
            if let last = spans.last, last.end == interval.start,
                last.verdict.exitStatus == verdict.exitStatus
            {
                spans[spans.count - 1].end = interval.end
            } else {
                spans.append(
                    Span(
                        start: interval.start, end: interval.end, verdict: verdict, cause: interval.cause))
            }
        }
        return spans
    }
}

extension NetworkState.Expectation.Verdict {
    /// Whether the expectation holds; `nil` where that is not known.
    var holds: Bool? {
        if case .undetermined = self { nil } else { self == .holds }
    }

    var exitStatus: ExitStatus { ExitStatus(isReachable: holds) }
}
