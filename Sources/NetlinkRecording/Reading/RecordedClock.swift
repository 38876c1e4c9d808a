// SPDX-License-Identifier: Apache-2.0

/// Places the entries of a recording on one time axis.
///
/// The times never decrease.
///
/// The entries keep their order. Between two entries of the same boot, the distance is that of CLOCK_BOOTTIME. The
/// last offset that a recorder stated for a boot applies to the whole boot, because a clock is usually more accurate
/// after it was set. A boot that seems to start before the last entry of the previous boot is placed right after that
/// entry.
///
/// Recordings of other programs and of earlier recorders state no clock: their time stamps are used as long as they
/// do not go back. The same applies to a recorder that does not know the boot, except for clocks that are set while
/// it runs.
package struct RecordedClock {
    /// How far time stamps can go back without a mark, in microseconds.
    ///
    /// The time stamps of a dump and of notifications during the dump are not in order. They are moved to the latest
    /// earlier time.
    private static let tolerance: Int64 = 10_000_000

    /// The last offset of each boot, if the recording was read once before; empty for a pipe.
    private var offsets: [UInt128: Int64] = [:]
    /// The clock of the present time stamps; `nil` if none is stated.
    private var statement: ClockReading?
    /// Whether the present file states a clock.
    ///
    /// The clock of the previous file does not apply to it.
    private var isStated = false
    /// The correction of the time stamps, in microseconds.
    ///
    /// The limits of ``ClockReading`` keep it below 2^57.
    ///
    /// The shift corrects time stamps before a later change of the clock, and includes the delay due to a clock that
    /// is behind.
    private var shift: Int64 = 0
    /// The last time stamp in the file, and its time on the time axis.
    private var last: (stamp: Recording.Time, time: Recording.Time)?

    /// The boot of the entries; `nil` if it is not known.
    var boot: Recording.Boot? {
        guard let statement, statement.isBootKnown else { return nil }
        let start = Recording.Time(microsecondsSince1970: shift + statement.offset)
        return Recording.Boot(identifier: statement.boot, start: start)
    }

    /// The time of a clock reading on the time axis, after the last entry; `nil` if the entries are from another
    /// boot.
    func time(of now: ClockReading) -> Recording.Time? {
        guard let statement else { return nil }
        // Without a known boot, the wall clock is used.
        guard statement.isBootKnown, now.isBootKnown else {
            return Recording.Time(limiting: now.sinceEpoch + shift)
        }
        guard statement.boot == now.boot else { return nil }
        return Recording.Time(limiting: now.sinceBoot + statement.offset + shift)
    }

    /// Learns the offsets of a whole recording before it is read.
    ///
    /// - Returns: Whether the offset of this boot changed. If no offset of a boot ever changes, learning does not
    ///   affect the times.
    mutating func learn(_ reading: ClockReading) -> Bool {
        let before = offsets.updateValue(reading.offset, forKey: reading.boot)
        return before.map { $0 != reading.offset } ?? false
    }

    /// Begins the next file, which states its own clock.
    mutating func beginFile() {
        isStated = false
    }

    /// Sets the time of an entry.
    mutating func adjust(_ entry: inout RecordingEntry) {
        if let stamp = entry.time { (entry.time, entry.clockChange) = place(stamp) }
        if case .annotation(.clock(let reading)) = entry.content, let change = state(reading) {
            entry.clockChange = change
        }
    }

    private mutating func state(_ reading: ClockReading) -> Recording.Mark.Kind? {
        isStated = true
        let before = statement
        statement = reading
        guard let before, before.boot == reading.boot else {
            // The offset is the time of the boot.
            let start = offsets[reading.boot] ?? reading.offset
            shift = start - reading.offset
            // If it is not known that the host booted in between, it is assumed not to have.
            guard let before, before.isBootKnown, reading.isBootKnown else { return nil }
            return last.flatMap { delay(from: start, to: $0.time) }
        }
        let change = reading.offset - before.offset
        shift -= change
        return change == 0 ? nil : .clockSet(.microseconds(change))
    }

    private mutating func place(_ stamp: Recording.Time) -> (Recording.Time, Recording.Mark.Kind?) {
        // Entries after a time stamp have its time, whatever is stated in between.
        if let last, last.stamp == stamp { return (last.time, nil) }
        if !isStated, statement != nil { (statement, shift) = (nil, 0) }
        var time = Recording.Time(limiting: stamp.microsecondsSince1970 + shift)
        var change: Recording.Mark.Kind?
        if let last, time < last.time {
            change = delay(from: time.microsecondsSince1970, to: last.time)
            time = last.time
        }
        last = (stamp, time)
        return (time, change)
    }

    /// Moves the following entries later if an instant is before the last entry by more than the tolerance.
    private mutating func delay(from instant: Int64, to last: Recording.Time) -> Recording.Mark.Kind? {
        let distance = last.microsecondsSince1970 - instant
        guard distance > Self.tolerance else { return nil }
        shift += distance
        return .clockBehind(.microseconds(distance))
    }
}
