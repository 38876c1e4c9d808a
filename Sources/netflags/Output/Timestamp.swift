// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// A time in the format of RFC 3339, in UTC with milliseconds: `2031-05-04T03:02:01.000Z`.
struct Timestamp: Hashable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Int64

    /// The time of a recording.
    init(_ time: Recording.Time) {
        milliseconds = time.microsecondsSince1970 / 1_000
    }

    /// Creates a time.
    init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The current time of CLOCK_REALTIME.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    var description: String {
        Recording.Time(microsecondsSince1970: milliseconds * 1_000).description
    }

    /// The text for a column of a terminal: without the date where the terminal is narrow.
    func description(forWidth width: Int?) -> String {
        width.map { $0 < 100 } ?? false ? String(description.dropFirst("2031-05-04T".count)) : description
    }
}
