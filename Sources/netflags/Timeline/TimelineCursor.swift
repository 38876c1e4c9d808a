// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// What a cursor file has of a target, on a line that ends with the target.
protocol CursorLine: Hashable {
    /// The first line of the file.
    static var head: String { get }
    /// How many words come before the target.
    static var wordCount: Int { get }

    /// Reads the words; `nil` where they are not those of a line.
    init?(words: [String])
    /// The words before the target.
    var words: [String] { get }
}

/// A file of `timeline --cursor-file`: how far each target is done.
struct CursorFile<Line: CursorLine>: Hashable {
    var lines: [String: Line] = [:]

    /// Starts before the first row.
    init() {}

    /// Reads a file; one that is missing or empty stands for the begin.
    ///
    /// - Throws: A ``FileFailure`` for a file that cannot be read, or is another one.
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

/// Up to where the rows of each target are written.
typealias TimelineCursor = CursorFile<TimelinePosition>

/// An instant in the lane of a target.
///
/// In a file it has three words: the instant and the start of the host, both in microseconds since 1970, and the
/// identifier of that start. Without an identifier (`-`) the start is 0. A clock that is set moves the times of a
/// recording, and not the distance of an instant from the start of its host.
struct TimelinePosition: CursorLine {
    static var head: String { "netflags-timeline 1" }
    static var wordCount: Int { 3 }

    private let instant: Int64
    private var start: Int64 = 0
    /// The start of the host; empty where it is not known.
    private var boot = ""

    /// An instant of a lane, in the start of the host that is known there; `nil` for none.
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

    /// Places the instant in a later reading of the lane.
    ///
    /// - Parameter boots: The starts of the host in that reading, in order.
    /// - Returns: The instant in microseconds; `nil` where all of the lane is after it.
    func time(among boots: [Recording.Boot]) -> Int64? {
        let boot = boots.first { $0.description == self.boot }
        // The recording of that start is gone, and the clock of another one can be behind it.
        if boot == nil, !self.boot.isEmpty, !boots.isEmpty { return nil }
        return instant + (boot.map { $0.start.microsecondsSince1970 - start } ?? 0)
    }
}

/// Finds the intervals of a lane that have ended since a position, as they end.
struct TimelineNews {
    /// By how much a change can be noticed earlier or later where a recording begins with another file.
    private static let tolerance: Int64 = 1_000_000

    /// The position; `nil` where all is after it.
    private let known: Int64?
    /// The last intervals that begin before the position: one of them is the last that is not new.
    private var held: [Timeline.Interval] = []
    private var isPast: Bool
    /// The newest start of the host.
    private var boot: Recording.Boot?
    /// The end of the last interval that is new; `nil` for none.
    private(set) var position: TimelinePosition?

    /// - Parameters:
    ///   - position: The end of the last interval that is not new; `nil` for none.
    ///   - boots: The starts of the host in the whole lane.
    init(since position: TimelinePosition?, boots: [Recording.Boot]) {
        known = position.flatMap { $0.time(among: boots) }
        isPast = known == nil
    }

    /// Takes the next interval that has ended; returns those that are new by it.
    mutating func take(_ interval: Timeline.Interval) -> [Timeline.Interval] {
        guard let known, !isPast, interval.start.microsecondsSince1970 < known else {
            var new = finish()
            note(interval)
            new.append(interval)
            position = TimelinePosition(interval.end, of: boot)
            return new
        }
        note(interval)
        held.append(interval)
        // Intervals leave no time between them: those before these two end before the position, and farther from it.
        if held.count > 2 { held.removeFirst() }
        return []
    }

    /// Returns those of the last intervals that are new although they begin before the position.
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

    /// The end of a time that is not recorded is an instant of the start of the host after it.
    private mutating func note(_ interval: Timeline.Interval) {
        boot = interval.boot ?? interval.nextBoot ?? boot
    }
}

extension Timeline.Lane {
    /// Finds the intervals that have ended since a position, and moves that past them.
    ///
    /// The last one is left where it can go on.
    func ended(since position: inout TimelinePosition?) -> [Timeline.Interval] {
        var news = TimelineNews(since: position, boots: boots)
        let found = (isOver ? intervals : intervals.dropLast()).flatMap { news.take($0) } + news.finish()
        position = news.position ?? position
        return found
    }
}
