// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// What `netflags record` wrote: the routing state of a host, and how it changed.
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
/// A recording is read as a stream: memory depends on the size of the network, not on the length of the recording.
/// Each function reads it from its start, or from the file of a directory where its part begins. A pipe can be read
/// once.
///
/// A file that is damaged, or ends inside a message, is read up to there. A file without a whole dump before its damage
/// cannot be read; in a directory it is passed over. What is not recorded is not guessed: such spans have a ``Mark``,
/// and queries that the recording does not decide fail with `ReachabilityError.Code.undecided`.
public struct Recording: Hashable, Sendable {
    /// The path, or the name in errors.
    let path: String
    /// The open descriptor to read from; `nil` to open the path.
    let descriptor: Int32?

    /// A file or a directory of `netflags record`.
    ///
    /// A file can also be one of `rtmon` or `ip monitor file`.
    ///
    /// - Parameter path: The file or directory; nothing is opened yet.
    public init(path: String) {
        self.init(fileName: String(fileName: Array(path.utf8)))
    }

    /// As ``init(path:)``, of a name that can have bytes that are not UTF-8.
    ///
    /// - Parameter path: The text of the name.
    package init(fileName path: String) {
        (self.path, descriptor) = (path, nil)
    }

    /// A recording that comes from an open descriptor, such as a pipe, and can be read once.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which stays the caller's and open.
    ///   - name: The name of the recording in errors.
    public init(descriptor: Int32, name: String) {
        (path, self.descriptor) = (name, descriptor)
    }

    /// The recording on standard input, which can be read once.
    public static let standardInput = Recording(descriptor: STDIN_FILENO, name: "stdin")
}

// MARK: - Time

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

// MARK: - Clocks

/// The clocks of a host at one instant.
package struct ClockReading: Hashable, Sendable {
    /// The start of the host that the first clock counts from: the number in /proc/sys/kernel/random/boot_id; where
    /// that is not known, a number of the recorder's own.
    package var boot: UInt128
    /// Whether ``boot`` is a start of the host: two that differ are two starts.
    package var isBootKnown = true
    /// CLOCK_BOOTTIME, which nothing sets: microseconds since the start of the host, asleep or not.
    package var sinceBoot: Int64
    /// CLOCK_REALTIME, which can be set: microseconds since 1970 in UTC.
    package var sinceEpoch: Int64

    /// The time of the wall clock.
    package var time: Recording.Time { Recording.Time(limiting: sinceEpoch) }

    /// The difference of the clocks, which changes only when the wall clock is set.
    var offset: Int64 { sinceEpoch - sinceBoot }
}

extension Recording {
    /// A start of the recorded host.
    package struct Boot: Hashable, Sendable, CustomStringConvertible {
        /// The number in /proc/sys/kernel/random/boot_id.
        package let identifier: UInt128
        /// Its place on the time axis, which is another one after the host's clock was set.
        package let start: Time

        /// The identifier in 32 hexadecimal digits, as the journal has it.
        package var description: String {
            identifier.padded(32, radix: 16)
        }
    }
}

// MARK: - This host

extension ClockReading {
    /// The longest time between readings of both clocks that counts as one instant.
    private static let instant: Int64 = 100
    /// How often the clocks are read again where a reading was interrupted for longer.
    private static let attempts = 10

    /// The clocks of this host now.
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

// MARK: - The start of this host

extension ClockReading {
    /// The present start of this host; `nil` where it is not known.
    private static let currentBoot = boot(
        file: "/proc/sys/kernel/random/boot_id",
        variable: getenv("NETFLAGS_BOOT_ID").map { String(cString: $0) })

    /// What stands for the start of this host where that is not known: one number for each process.
    private static let ownNumber = UInt128.random(in: .min ... .max)

    /// The start of the host that a file names, or else a variable of the environment.
    ///
    /// A unit of systemd with `ProcSubset=pid` has no such file, and its service manager knows the number.
    static func boot(file: String, variable: String?) -> UInt128? {
        FileBytes.text(of: file, upTo: 36).flatMap(boot) ?? variable.flatMap(boot)
    }

    private static func boot(_ text: String) -> UInt128? {
        let digits = text.filter { $0 != "-" }
        return digits.utf8.count == 32 ? UInt128(digits, radix: 16) : nil
    }
}
