// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A time in the format of RFC 3339, in UTC with milliseconds: `2031-05-04T03:02:01.000Z`.
struct Timestamp: Hashable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Int64

    /// The current time of CLOCK_REALTIME.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    var description: String {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [Int(parts.tm_year) + 1_900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.padded(Int($0), 2) }
        return "\(Self.padded(date[0], 4))-\(Self.padded(date[1], 2))-\(Self.padded(date[2], 2))"
            + "T\(time.joined(separator: ":")).\(Self.padded(Int(milliseconds % 1_000), 3))Z"
    }

    /// The text for a column of a terminal: without the date where the terminal is narrow.
    func description(forWidth width: Int?) -> String {
        width.map { $0 < 100 } ?? false ? String(description.dropFirst("2031-05-04T".count)) : description
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
