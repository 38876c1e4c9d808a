// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// A recording of `netflags record`: the routing state of a host, and its changes.
///
/// ```swift
/// let recording = Recording(path: "/var/lib/netflags")      // a file or a directory
/// var replay = try recording.replay(of: [.report(), .report(of: .host("192.0.2.7"))])
/// while let step = try replay.next() {
///     guard case .change(let change) = step else { continue }
///     print(change.time, change.result, change.cause?.description ?? "")
/// }
/// let before = try recording.source(at: replay.end)          // ask about the network of any instant
/// ```
///
/// A recording is read as a stream: the memory depends on the size of the network, not on the length of the
/// recording. Each function reads it from its start, or from the file of a directory in which the needed part begins.
/// A pipe can be read only once.
///
/// A damaged file, or one that ends inside a message, is read up to that point. A file without a complete dump before
/// its damage cannot be read; in a directory it is skipped. Nothing is guessed: a span that is not recorded has a
/// ``Mark``, and queries that the recording does not decide fail with `ReachabilityError.Code.undecided`.
public struct Recording: Hashable, Sendable {
    /// The path; for a descriptor, the name in errors.
    let path: String
    /// The open descriptor to read; `nil` to open the path.
    let descriptor: Int32?

    /// Creates a recording from a file or a directory of `netflags record`.
    ///
    /// It can also be a file of `rtmon` or `ip monitor file`.
    ///
    /// - Parameter path: The file or directory. It is opened later.
    public init(path: String) {
        self.init(fileName: String(fileName: Array(path.utf8)))
    }

    /// Creates a recording like ``init(path:)``, for a name with bytes that are not UTF-8.
    ///
    /// - Parameter path: The name as text.
    package init(fileName path: String) {
        (self.path, descriptor) = (path, nil)
    }

    /// Creates a recording from an open descriptor, such as a pipe.
    ///
    /// It can be read only once.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor. The caller owns it and keeps it open.
    ///   - name: The name of the recording in errors.
    public init(descriptor: Int32, name: String) {
        (path, self.descriptor) = (name, descriptor)
    }

    /// The recording on standard input, which can be read only once.
    public static let standardInput = Recording(descriptor: STDIN_FILENO, name: "stdin")
}

// MARK: - Time

extension Recording {
    /// A point in time of a recording, on the recorded host's clock.
    ///
    /// With Foundation, `Date(timeIntervalSince1970: Double(time.microsecondsSince1970) / 1e6)` is the same instant.
    public struct Time: InstantProtocol, Sendable {
        /// Microseconds since 1970-01-01T00:00:00Z.
        public let microsecondsSince1970: Int64

        /// Creates a time.
        public init(microsecondsSince1970: Int64) {
            self.microsecondsSince1970 = microsecondsSince1970
        }

        /// Creates a time from a time stamp: rtmon stores a `struct timeval` with 32 bits per field.
        package init(seconds: UInt32, microseconds: UInt32) {
            microsecondsSince1970 = Int64(seconds) * 1_000_000 + Int64(microseconds)
        }

        /// Creates a time, limited to those of a time stamp: from 1970 to the year 2106.
        package init(limiting microseconds: Int64) {
            microsecondsSince1970 = min(max(microseconds, 0), Int64(UInt32.max) * 1_000_000 + 999_999)
        }

        /// Orders by time.
        public static func < (left: Time, right: Time) -> Bool {
            left.microsecondsSince1970 < right.microsecondsSince1970
        }

        /// The duration until a later time, at most 64 bits of microseconds.
        public func duration(to later: Time) -> Duration {
            .microseconds(later.microsecondsSince1970.subtractingClamped(microsecondsSince1970))
        }

        /// The time after a duration, at most the last representable time.
        public func advanced(by duration: Duration) -> Time {
            let microseconds = duration / .microseconds(1)
            // 2^63 is the smallest number that is too large.
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
    /// The sum, limited to the range of the type: a file can contain any number.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, limited to the range of the type.
    func subtractingClamped(_ other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }
}

extension BinaryInteger {
    /// The number, padded with zeros to a number of digits.
    func padded(_ width: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

// MARK: - Clocks

/// The clocks of a host at one instant.
package struct ClockReading: Hashable, Sendable {
    /// The boot of the host that the first clock counts from: the number in /proc/sys/kernel/random/boot_id; if that
    /// is not known, a number of the recorder's own.
    package var boot: UInt128
    /// Whether ``boot`` identifies a boot of the host, so that two different numbers are two boots.
    package var isBootKnown = true
    /// CLOCK_BOOTTIME, which cannot be set: microseconds since the boot of the host, including sleep.
    package var sinceBoot: Int64
    /// CLOCK_REALTIME, which can be set: microseconds since 1970 in UTC.
    package var sinceEpoch: Int64

    /// The time on the wall clock.
    package var time: Recording.Time { Recording.Time(limiting: sinceEpoch) }

    /// The difference of the two clocks, which changes only when the wall clock is set.
    var offset: Int64 { sinceEpoch - sinceBoot }
}

extension Recording {
    /// A boot of the recorded host.
    package struct Boot: Hashable, Sendable, CustomStringConvertible {
        /// The number in /proc/sys/kernel/random/boot_id.
        package let identifier: UInt128
        /// The time of the boot on the time axis.
        ///
        /// It changes when the host's clock is set.
        package let start: Time

        /// The identifier in 32 hexadecimal digits, as in the journal.
        package var description: String {
            identifier.padded(32, radix: 16)
        }
    }
}

// MARK: - This host

extension ClockReading {
    /// The longest time between two clock readings that count as one instant.
    private static let instant: Int64 = 100
    /// How often the clocks are read again if a reading was interrupted for longer.
    private static let attempts = 10

    /// The present clocks of this host.
    package static var now: ClockReading {
        var reading = ClockReading(
            boot: currentBoot ?? ownNumber, isBootKnown: currentBoot != nil, sinceBoot: 0, sinceEpoch: 0)
        for _ in 0..<attempts {
            reading.sinceBoot = microseconds(CLOCK_BOOTTIME)
            reading.sinceEpoch = microseconds(CLOCK_REALTIME)
            if microseconds(CLOCK_BOOTTIME) - reading.sinceBoot <= instant { break }
        }
        return reading
    }

    private static func microseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

// MARK: - The boot of this host

extension ClockReading {
    /// The present boot of this host; `nil` if it is not known.
    private static let currentBoot = boot(
        file: "/proc/sys/kernel/random/boot_id",
        variable: getenv("NETFLAGS_BOOT_ID").map { String(cString: $0) })

    /// The number in place of an unknown boot: one random number for each process.
    private static let ownNumber = UInt128.random(in: .min ... .max)

    /// The boot in a file, or else in an environment variable.
    ///
    /// A systemd unit with `ProcSubset=pid` has no such file, but its service manager knows the number.
    static func boot(file: String, variable: String?) -> UInt128? {
        FileBytes.text(of: file, upTo: 36).flatMap(boot) ?? variable.flatMap(boot)
    }

    private static func boot(_ text: String) -> UInt128? {
        let digits = text.filter { $0 != "-" }
        return digits.utf8.count == 32 ? UInt128(digits, radix: 16) : nil
    }
}
