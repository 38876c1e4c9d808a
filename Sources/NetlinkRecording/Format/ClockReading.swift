// SPDX-License-Identifier: Apache-2.0

internal import Glibc

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
        var text = [UInt8](repeating: 0, count: 36)
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        let count = read(descriptor, &text, text.count)
        return boot(String(decoding: text.prefix(max(0, count)), as: UTF8.self)) ?? variable.flatMap(boot)
    }

    private static func boot(_ text: String) -> UInt128? {
        let digits = text.filter { $0 != "-" }
        return digits.utf8.count == 32 ? UInt128(digits, radix: 16) : nil
    }
}
