// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The clocks of a host at one instant.
package struct ClockReading: Hashable, Sendable {
    /// The start of the host that the first clock counts from: the number in /proc/sys/kernel/random/boot_id.
    package var boot: UInt128
    /// CLOCK_BOOTTIME, which nothing sets: microseconds since the start of the host, asleep or not.
    package var sinceBoot: Int64
    /// CLOCK_REALTIME, which can be set: microseconds since 1970 in UTC.
    package var sinceEpoch: Int64

    /// The time of the wall clock.
    package var time: Recording.Time { Recording.Time(limiting: sinceEpoch) }

    /// The difference of the clocks, which changes only when the wall clock is set.
    var offset: Int64 { sinceEpoch - sinceBoot }
}

// MARK: - This host

extension ClockReading {
    /// The longest time between readings of both clocks that counts as one instant.
    private static let instant: Int64 = 100
    /// How often the clocks are read again where a reading was interrupted for longer.
    private static let attempts = 10

    /// The clocks of this host now.
    package static var now: ClockReading {
        var reading = ClockReading(boot: currentBoot, sinceBoot: 0, sinceEpoch: 0)
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

extension ClockReading {
    /// The present start of this host.
    ///
    /// Where /proc is not mounted, each process counts as a start of its own.
    static let currentBoot: UInt128 = {
        var text = [UInt8](repeating: 0, count: 36)
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        let count = read(descriptor, &text, text.count)
        let digits = String(decoding: text.prefix(max(0, count)), as: UTF8.self).filter { $0 != "-" }
        let boot = digits.utf8.count == 32 ? UInt128(digits, radix: 16) : nil
        return boot ?? .random(in: .min ... .max)
    }()
}
