// SPDX-License-Identifier: Apache-2.0

/// The clock of a recorder's time stamps.
///
/// A stamp is CLOCK_BOOTTIME plus the offset that the recording states. A clock that is set therefore changes no stamp
/// before the recording states its new offset, and no notification has the time of the wrong offset.
struct RecorderClock {
    /// By how much the offset differs at least after the wall clock was set, in microseconds.
    private static let threshold: Int64 = 1_000

    private let read: @Sendable () -> ClockReading
    /// The offset that the recording states.
    private var offset: Int64

    init(_ read: @escaping @Sendable () -> ClockReading) {
        self.read = read
        offset = read().offset
    }

    /// The clocks now, with the wall clock at the stated offset.
    var reading: ClockReading {
        var reading = read()
        reading.sinceEpoch = reading.sinceBoot + offset
        return reading
    }

    /// The time stamp of now.
    var now: Recording.Time { reading.time }

    /// Takes the offset of the host's clock if it was set; returns whether the recording has to state it.
    mutating func follow() -> Bool {
        let new = read().offset
        guard abs(new - offset) >= Self.threshold else { return false }
        offset = new
        return true
    }
}
