// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A time stamp of a recording.
///
/// rtmon stores a `struct timeval` with 32 bits a field. It ends in the year 2106.
package struct RecordingTime: Hashable, Sendable {
    /// Seconds since 1970 in UTC.
    package var seconds: UInt32
    /// Microseconds, 0 to 999,999.
    package var microseconds: UInt32

    /// Creates a time.
    package init(seconds: UInt32, microseconds: UInt32) {
        self.seconds = seconds
        self.microseconds = microseconds
    }

    /// Microseconds since 1970 in UTC.
    package var microsecondsSince1970: Int64 {
        Int64(seconds) * 1_000_000 + Int64(microseconds)
    }

    /// Creates a time from microseconds since 1970, limited to the times that a recording can hold.
    package init(microsecondsSince1970 total: Int64) {
        let last = Int64(UInt32.max) * 1_000_000 + 999_999
        let (seconds, rest) = min(max(total, 0), last).quotientAndRemainder(dividingBy: 1_000_000)
        self.init(seconds: UInt32(seconds), microseconds: UInt32(rest))
    }

    /// The current time of the host's clock.
    package static var now: RecordingTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return RecordingTime(
            seconds: UInt32(truncatingIfNeeded: time.tv_sec),
            microseconds: UInt32(truncatingIfNeeded: time.tv_nsec / 1_000)
        )
    }
}

extension RecordingTime: Comparable {
    /// Orders by time.
    package static func < (left: RecordingTime, right: RecordingTime) -> Bool {
        (left.seconds, left.microseconds) < (right.seconds, right.microseconds)
    }
}
