// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

extension Timeline {
    /// Writes the timeline in JSON Lines: one object an interval, target by target.
    func writeJSON(to buffer: inout ByteBuffer) {
        for lane in lanes {
            for interval in lane.intervals {
                buffer.line { json in
                    json.member("target", lane.target)
                    json.members(interval)
                }
            }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func members(_ interval: Timeline.Interval) {
        member("from", interval.start.description)
        member("to", interval.end.description)
        member("isRecorded", interval.state != .unrecorded)
        members(interval.answer, reason: interval.reason)
        member("cause", object: interval.cause) { $1.members($0) }
    }

    /// Writes the members of a cause.
    mutating func members(_ cause: Timeline.Cause) {
        member("time", cause.time.description)
        member("kind", "\(cause.symbol)")
        member("description", cause.text)
    }
}
