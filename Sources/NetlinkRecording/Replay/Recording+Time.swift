// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension Recording {
    /// A point in time of a recording: that of the recorded host's clock.
    ///
    /// With Foundation, `Date(timeIntervalSince1970: Double(time.microsecondsSince1970) / 1e6)` is the same instant.
    public struct Time: InstantProtocol, Sendable {
        /// Microseconds since 1970-01-01T00:00:00Z.
        public let microsecondsSince1970: Int64

        /// Creates a time.
        public init(microsecondsSince1970: Int64) {
            self.microsecondsSince1970 = microsecondsSince1970
        }

        package init(_ time: RecordingTime) {
            self.init(microsecondsSince1970: time.microsecondsSince1970)
        }

        /// The time stamp of a recording; `nil` for a time before 1970.
        package var recorded: RecordingTime? {
            microsecondsSince1970 < 0 ? nil : RecordingTime(microsecondsSince1970: microsecondsSince1970)
        }

        /// Orders by time.
        public static func < (left: Time, right: Time) -> Bool {
            left.microsecondsSince1970 < right.microsecondsSince1970
        }

        /// The time until a later one.
        public func duration(to later: Time) -> Duration {
            .microseconds(later.microsecondsSince1970 - microsecondsSince1970)
        }

        /// The time some time later.
        public func advanced(by duration: Duration) -> Time {
            Time(microsecondsSince1970: microsecondsSince1970 + Int64(duration / .microseconds(1)))
        }
    }
}

extension Recording.Time: CustomStringConvertible {
    /// The time in the format of RFC 3339, in UTC with milliseconds: `2031-05-04T03:02:01.000Z`.
    public var description: String {
        let milliseconds = microsecondsSince1970 / 1_000
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [Int(parts.tm_year) + 1_900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.padded(Int($0), 2) }
        return "\(Self.padded(date[0], 4))-\(Self.padded(date[1], 2))-\(Self.padded(date[2], 2))"
            + "T\(time.joined(separator: ":")).\(Self.padded(Int(milliseconds % 1_000), 3))Z"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
