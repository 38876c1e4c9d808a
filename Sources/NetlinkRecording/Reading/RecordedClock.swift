// SPDX-License-Identifier: Apache-2.0

/// Places the entries of a recording on one time axis; its times never decrease.
///
/// The order is that of the entries. Between two entries of one start of the host lies the time that CLOCK_BOOTTIME
/// measured. The last offset that a recorder stated for a start of the host counts for all of it: a clock that is set
/// is the better one. A host that seems to have started before the last entry of its start before is placed right after
/// that entry.
///
/// Recordings of other programs and of earlier recorders state no clock: their stamps count, as far as they do not run
/// backwards. So do those of a recorder that does not know the start of the host, but for the clocks that are set while
/// it runs.
package struct RecordedClock {
    /// By how much stamps can go back without a word, in microseconds.
    ///
    /// Those of a dump and of the notifications during it are not in order. They count as the latest time before them.
    private static let tolerance: Int64 = 10_000_000

    /// The last offset of each start of the host, of a recording that was read before; empty for a pipe.
    private var offsets: [UInt128: Int64] = [:]
    /// The clock of the stamps that are read; `nil` where none is stated.
    private var statement: ClockReading?
    /// Whether the present file states a clock: that of the file before does not count in it.
    private var isStated = false
    /// What is added to the stamps, in microseconds; the bounds of ``ClockReading`` keep it below 2^57.
    ///
    /// It is the correction of a clock that is set later, and how late a clock that is behind makes them.
    private var shift: Int64 = 0
    /// The last stamp as it stands in the file, and its place on the time axis.
    private var last: (stamp: Recording.Time, time: Recording.Time)?

    /// The start of the host that the entries are from; `nil` where it is not known.
    var boot: Recording.Boot? {
        guard let statement, statement.isBootKnown else { return nil }
        let start = Recording.Time(microsecondsSince1970: shift + statement.offset)
        return Recording.Boot(identifier: statement.boot, start: start)
    }

    /// The place of the present instant of this host on the time axis, after the last entry; `nil` if the entries are
    /// those of another host.
    func time(of now: ClockReading) -> Recording.Time? {
        guard let statement else { return nil }
        // A host that does not know its start has the wall clock.
        guard statement.isBootKnown, now.isBootKnown else {
            return Recording.Time(limiting: now.sinceEpoch + shift)
        }
        guard statement.boot == now.boot else { return nil }
        return Recording.Time(limiting: now.sinceBoot + statement.offset + shift)
    }

    /// Learns the offsets of a whole recording before it is read.
    ///
    /// - Returns: Whether the offset of this start of the host is another one than before: without such a reading, the
    ///   times are the same for a clock that has learned nothing.
    mutating func learn(_ reading: ClockReading) -> Bool {
        let before = offsets.updateValue(reading.offset, forKey: reading.boot)
        return before.map { $0 != reading.offset } ?? false
    }

    /// Begins the next file, which states its own clock.
    mutating func beginFile() {
        isStated = false
    }

    /// Takes an entry, and sets its time.
    mutating func take(_ entry: inout RecordingEntry) {
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
            // The offset is the instant at which the host started.
            let start = offsets[reading.boot] ?? reading.offset
            shift = start - reading.offset
            // The host did not start in between where it is not known that it did.
            guard let before, before.isBootKnown, reading.isBootKnown else { return nil }
            return last.flatMap { delay(from: start, to: $0.time) }
        }
        let change = reading.offset - before.offset
        shift -= change
        return change == 0 ? nil : .clockSet(.microseconds(change))
    }

    private mutating func place(_ stamp: Recording.Time) -> (Recording.Time, Recording.Mark.Kind?) {
        // The entries after a stamp have its time, whatever was stated in between.
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

    /// Places what follows later, where an instant is before the last entry by more than the tolerance.
    private mutating func delay(from instant: Int64, to last: Recording.Time) -> Recording.Mark.Kind? {
        let distance = last.microsecondsSince1970 - instant
        guard distance > Self.tolerance else { return nil }
        shift += distance
        return .clockBehind(.microseconds(distance))
    }
}
