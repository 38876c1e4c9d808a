// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// The entry of a target in a cursor file, on a line that ends with the target.
protocol CursorLine: Hashable {
    /// The first line of the file.
    static var head: String { get }
    /// The number of words before the target.
    static var wordCount: Int { get }

    /// Parses the words; `nil` if they are not the words of a line.
    init?(words: [String])
    /// The words before the target.
    var words: [String] { get }
}

/// A file of `timeline --cursor-file`: the progress for each target.
struct CursorFile<Line: CursorLine>: Hashable {
    var lines: [String: Line] = [:]

    /// Begins before the first row.
    init() {}

    /// Reads a file; a missing or empty file stands for the beginning.
    ///
    /// - Throws: A ``FileFailure`` for a file that cannot be read, or is not a cursor file.
    init(file path: String) throws(FileFailure) {
        guard let bytes = try OutputFile.read(path), !bytes.isEmpty else { return }
        let texts = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard texts.first.map({ $0 == Line.head }) ?? false else { throw Self.malformed(path) }
        for text in texts.dropFirst() {
            let words = text.split(separator: " ", maxSplits: Line.wordCount).map(String.init)
            guard words.count == Line.wordCount + 1, let line = Line(words: words.dropLast()) else {
                throw Self.malformed(path)
            }
            lines[words[Line.wordCount]] = line
        }
    }

    /// Replaces the file.
    func write(to path: String) throws(FileFailure) {
        var buffer = ByteBuffer()
        buffer.append("\(Line.head)\n")
        for (target, line) in lines.sorted(by: { $0.key < $1.key }) {
            buffer.append("\((line.words + [target]).joined(separator: " "))\n")
        }
        try OutputFile.write(&buffer, to: path)
    }

    private static func malformed(_ path: String) -> FileFailure {
        FileFailure(
            "read \(path)",
            "it is not a cursor of netflags timeline with this format: delete it to begin anew, or give another"
        )
    }
}

/// The position up to which the rows of each target are written.
typealias TimelineCursor = CursorFile<TimelinePosition>

/// An instant in the lane of a target.
///
/// In a file, an instant has three words: the instant and the boot of the host, both in microseconds since 1970, and
/// the identifier of that boot. Without an identifier (`-`), the boot is 0. When the clock is set, the times of a
/// recording change, and the distance of an instant from the boot of its host does not.
struct TimelinePosition: CursorLine {
    static var head: String { "netflags-timeline 1" }
    static var wordCount: Int { 3 }

    private let instant: Int64
    private var start: Int64 = 0
    /// The identifier of the boot; empty if it is not known.
    private var boot = ""

    /// An instant of a lane, with the boot of the host that is known at that instant; `nil` if none is known.
    init(_ time: Recording.Time, of boot: Recording.Boot?) {
        instant = time.microsecondsSince1970
        if let boot { (start, self.boot) = (boot.start.microsecondsSince1970, boot.description) }
    }

    init?(words: [String]) {
        guard let instant = Int64(words[0]), let start = Int64(words[1]),
            max(instant.magnitude, start.magnitude) < 1 << 60
        else { return nil }
        (self.instant, self.start, boot) = (instant, start, words[2] == "-" ? "" : words[2])
    }

    var words: [String] { ["\(instant)", "\(start)", boot.isEmpty ? "-" : boot] }

    /// Converts the instant to the times of a later reading of the lane.
    ///
    /// - Parameter boots: The boots of the host in that reading, in order.
    /// - Returns: The instant in microseconds; `nil` if the whole lane is after it.
    func time(among boots: [Recording.Boot]) -> Int64? {
        let boot = boots.first { $0.description == self.boot }
        // The recording of that boot no longer exists, and the clock of another boot can be behind it.
        if boot == nil, !self.boot.isEmpty, !boots.isEmpty { return nil }
        return instant + (boot.map { $0.start.microsecondsSince1970 - start } ?? 0)
    }
}

/// Finds the intervals of a lane that have ended since a position, one by one.
struct TimelineNews {
    /// The time by which a change can be noticed earlier or later if a recording begins with another file.
    private static let tolerance: Int64 = 1_000_000

    /// The position; `nil` if all intervals are after it.
    private let known: Int64?
    /// The last intervals that begin before the position: one of them is the last interval that is not new.
    private var held: [Timeline.Interval] = []
    private var isPast: Bool
    /// The newest boot of the host.
    private var boot: Recording.Boot?
    /// The end of the last new interval; `nil` if there is none.
    private(set) var position: TimelinePosition?

    /// - Parameters:
    ///   - position: The end of the last interval that is not new; `nil` if all intervals are new.
    ///   - boots: The boots of the host in the whole lane.
    init(since position: TimelinePosition?, boots: [Recording.Boot]) {
        known = position.flatMap { $0.time(among: boots) }
        isPast = known == nil
    }

    /// Adds the next interval that has ended; returns the intervals that are now known to be new.
    mutating func read(_ interval: Timeline.Interval) -> [Timeline.Interval] {
        guard let known, !isPast, interval.start.microsecondsSince1970 < known else {
            var new = finish()
            updateBoot(by: interval)
            new.append(interval)
            position = TimelinePosition(interval.end, of: boot)
            return new
        }
        updateBoot(by: interval)
        held.append(interval)
        // Intervals are contiguous: the intervals before these two end before the position, and farther from it.
        if held.count > 2 { held.removeFirst() }
        return []
    }

    /// Returns the last intervals that are new although they begin before the position.
    mutating func finish() -> [Timeline.Interval] {
        guard let known, !isPast else { return [] }
        isPast = true
        func distance(_ interval: Timeline.Interval) -> UInt64 {
            (interval.end.microsecondsSince1970 - known).magnitude
        }
        let nearest = held.indices.min { distance(held[$0]) < distance(held[$1]) }
        let new =
            if let nearest, distance(held[nearest]) <= Self.tolerance {
                held[(nearest + 1)...]
            } else {
                held.drop { $0.end.microsecondsSince1970 <= known }
            }
        if let last = new.last { position = TimelinePosition(last.end, of: boot) }
        return Array(new)
    }

    /// The end of an unrecorded interval belongs to the boot of the host after it.
    private mutating func updateBoot(by interval: Timeline.Interval) {
        boot = interval.boot ?? interval.nextBoot ?? boot
    }
}

extension Timeline.Lane {
    /// Finds the intervals that have ended since a position, and moves the position past them.
    ///
    /// The last interval is left out if it can continue.
    func ended(since position: inout TimelinePosition?) -> [Timeline.Interval] {
        var news = TimelineNews(since: position, boots: boots)
        let found = (isOver ? intervals : intervals.dropLast()).flatMap { news.read($0) } + news.finish()
        position = news.position ?? position
        return found
    }
}
