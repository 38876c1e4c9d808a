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

    /// The end of the last of some intervals of a lane, which are its first ones; `nil` for none.
    init?(after intervals: ArraySlice<Timeline.Interval>, of lane: Timeline.Lane) {
        guard let last = intervals.last else { return nil }
        instant = last.end.microsecondsSince1970
        // The end of a time that is not recorded is an instant of the start of the host after it.
        let boots = lane.intervals[..<intervals.endIndex].reversed().lazy.compactMap {
            $0.boot ?? $0.nextBoot
        }
        if let boot = boots.first {
            (start, self.boot) = (boot.start.microsecondsSince1970, boot.description)
        }
    }

    init?(words: [String]) {
        guard let instant = Int64(words[0]), let start = Int64(words[1]),
            max(instant.magnitude, start.magnitude) < 1 << 60
        else { return nil }
        (self.instant, self.start, boot) = (instant, start, words[2] == "-" ? "" : words[2])
    }

    var words: [String] { ["\(instant)", "\(start)", boot.isEmpty ? "-" : boot] }

    /// The instant in a later reading of the lane, in microseconds; `nil` where all of the lane is after it.
    func time(in lane: Timeline.Lane) -> Int64? {
        let boots = lane.boots
        let boot = boots.first { $0.description == self.boot }
        // The recording of that start is gone, and the clock of another one can be behind it.
        if boot == nil, !self.boot.isEmpty, !boots.isEmpty { return nil }
        return instant + (boot.map { $0.start.microsecondsSince1970 - start } ?? 0)
    }
}

extension TimelineCursor {
    /// By how much a change can be noticed earlier or later where a recording begins with another file.
    private static let tolerance: Int64 = 1_000_000

    /// Returns the intervals of a lane that have ended since the last one, and moves past them.
    ///
    /// The last interval of a lane can go on.
    mutating func advance(over lane: Timeline.Lane) -> ArraySlice<Timeline.Interval> {
        let ended = ended(lane)
        if let position = TimelinePosition(after: ended, of: lane) { lines[lane.target] = position }
        return ended
    }

    private func ended(_ lane: Timeline.Lane) -> ArraySlice<Timeline.Interval> {
        let ended = lane.isOver ? lane.intervals[...] : lane.intervals.dropLast()
        guard let end = lines[lane.target].flatMap({ $0.time(in: lane) }) else { return ended }
        func distance(_ interval: Timeline.Interval) -> UInt64 {
            (interval.end.microsecondsSince1970 - end).magnitude
        }
        let known = ended.indices.filter { ended[$0].start.microsecondsSince1970 < end }
        let nearest = known.min { distance(ended[$0]) < distance(ended[$1]) }
        if let nearest, distance(ended[nearest]) <= Self.tolerance { return ended[(nearest + 1)...] }
        return ended.drop { $0.end.microsecondsSince1970 <= end }
    }
}
