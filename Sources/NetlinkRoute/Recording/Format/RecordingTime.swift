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
