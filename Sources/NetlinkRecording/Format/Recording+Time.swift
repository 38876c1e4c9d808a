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

        /// The time of a stamp: rtmon stores a `struct timeval` with 32 bits a field.
        package init(seconds: UInt32, microseconds: UInt32) {
            microsecondsSince1970 = Int64(seconds) * 1_000_000 + Int64(microseconds)
        }

        /// The time, limited to those that a stamp can hold: from 1970 to the year 2106.
        package init(limiting microseconds: Int64) {
            microsecondsSince1970 = min(max(microseconds, 0), Int64(UInt32.max) * 1_000_000 + 999_999)
        }

        /// Orders by time.
        public static func < (left: Time, right: Time) -> Bool {
            left.microsecondsSince1970 < right.microsecondsSince1970
        }

        /// The time until a later one, at most what fits into 64 bits of microseconds.
        public func duration(to later: Time) -> Duration {
            .microseconds(later.microsecondsSince1970.subtractingClamped(microsecondsSince1970))
        }

        /// The time some time later, at most the last one that there is.
        public func advanced(by duration: Duration) -> Time {
            let microseconds = duration / .microseconds(1)
            // 2^63 is the first number that is too large.
            let step: Int64 =
                microseconds >= 0x1p63 ? .max : microseconds <= -0x1p63 ? .min : Int64(microseconds)
            return Time(microsecondsSince1970: microsecondsSince1970.addingClamped(step))
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
        let date = [(parts.tm_year + 1_900).padded(4), (parts.tm_mon + 1).padded(2), parts.tm_mday.padded(2)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0.padded(2) }
        let fraction = (milliseconds % 1_000).padded(3)
        return "\(date.joined(separator: "-"))T\(time.joined(separator: ":")).\(fraction)Z"
    }
}

extension FixedWidthInteger {
    /// The sum, or the number nearest to it: a file can hold any number.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the number nearest to it.
    func subtractingClamped(_ other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }
}

extension BinaryInteger {
    /// The number with zeros in front, so that it has at least so many digits.
    func padded(_ width: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
