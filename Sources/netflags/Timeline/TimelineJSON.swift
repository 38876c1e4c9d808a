// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A timeline in JSON Lines: one object an interval, target by target.
enum TimelineJSON {
    static func write(_ timeline: Timeline, to buffer: inout ByteBuffer) {
        for lane in timeline.lanes {
            for interval in lane.intervals { write(interval, lane.target, to: &buffer) }
        }
    }

    private static func write(
        _ interval: Timeline.Interval,
        _ target: String,
        to buffer: inout ByteBuffer
    ) {
        buffer.object { json in
            json.key("target")
            json.value(target)
            json.key("from")
            json.value(interval.start.description)
            json.key("to")
            json.value(interval.end.description)
            json.key("isRecorded")
            json.value(interval.state != .unrecorded)
            json.members(interval.flags)
            json.key("interface")
            json.value(interval.interface)
            json.key("gateway")
            json.value(interval.gateway)
            json.key("reason")
            json.value(interval.reason)
            json.key("error")
            json.value(interval.error)
            json.key("cause")
            guard let cause = interval.cause else { return json.null() }
            json.object { json in
                json.key("time")
                json.value(cause.time.description)
                json.key("kind")
                json.value("\(cause.symbol)")
                json.key("description")
                json.value(cause.text)
            }
        }
        buffer.append(UInt8(ascii: "\n"))
    }
}
