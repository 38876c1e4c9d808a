// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// A row of `timeline --json`: a span in which the answer about a target stays the same.
///
/// `docs/timeline.schema.json` describes it.
struct TimelineRow {
    /// The version of the keys: it changes when one of them goes or has another meaning.
    static let schema = 1

    /// The name of the host as given; `nil` for none.
    let host: String?
    let target: String
    let interval: Timeline.Interval

    /// Writes the row as a JSON object.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("schema", Self.schema)
            json.member("host", host)
            json.member("bootID", interval.boot?.description)
            json.member("target", target)
            json.member("from", interval.start.description)
            json.member("to", interval.end.description)
            json.member("durationSeconds", interval.duration)
            json.member("isRecorded", interval.state != .unrecorded)
            json.members(interval.report?.flags ?? [], reachable: interval.isReachable)
            json.pathMembers(interval.answer, reason: interval.reason)
            json.member("cause", object: interval.cause) { $1.members($0) }
        }
    }
}
