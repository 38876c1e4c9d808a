// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// Up to where the rows of each target are written: the file of `timeline --cursor-file`.
///
/// The first line is `netflags-timeline 1`. Each further line has, separated by spaces, the end of the last row of a
/// target and the start of the host, both in microseconds since 1970, the identifier of that start, and the target.
/// Without an identifier (`-`) the start is 0. A clock that is set moves the times of a recording, and not the distance
/// of a row from the start of its host.
struct TimelineCursor: Hashable {
    /// The end of the last row of a target.
    struct Position: Hashable {
        var end: Int64
        var start: Int64 = 0
        /// The start of the host; empty where it is not known.
        var boot = ""
    }

    private static let head = "netflags-timeline 1"
    /// By how much a change can be noticed earlier or later where a recording begins with another file.
    private static let tolerance: Int64 = 1_000_000

    private(set) var positions: [String: Position] = [:]

    /// Starts before the first row.
    init() {}

    /// Returns the intervals of a lane that have ended since the last one, and moves past them.
    ///
    /// The last interval of a lane can go on.
    mutating func advance(over lane: Timeline.Lane) -> ArraySlice<Timeline.Interval> {
        let ended = ended(lane)
        guard let last = ended.last else { return [] }
        var position = Position(end: last.end.microsecondsSince1970)
        if let boot = last.boot ?? lane.intervals.last?.boot {
            (position.start, position.boot) = (boot.start.microsecondsSince1970, boot.description)
        }
        positions[lane.target] = position
        return ended
    }

    private func ended(_ lane: Timeline.Lane) -> ArraySlice<Timeline.Interval> {
        let ended = lane.intervals.dropLast()
        guard let position = positions[lane.target] else { return ended }
        let boots = lane.intervals.compactMap(\.boot)
        let boot = boots.first { $0.description == position.boot }
        // The recording of that start is gone, and the clock of another one can be behind it.
        if boot == nil, !position.boot.isEmpty, !boots.isEmpty { return ended }
        let moved = boot.map { $0.start.microsecondsSince1970 - position.start } ?? 0
        let end = position.end + moved
        func distance(_ interval: Timeline.Interval) -> UInt64 {
            (interval.end.microsecondsSince1970 - end).magnitude
        }
        let known = ended.indices.filter { ended[$0].start.microsecondsSince1970 < end }
        let nearest = known.min { distance(ended[$0]) < distance(ended[$1]) }
        if let nearest, distance(ended[nearest]) <= Self.tolerance { return ended[(nearest + 1)...] }
        return ended.drop { $0.end.microsecondsSince1970 <= end }
    }
}

// MARK: - The file

extension TimelineCursor {
    /// Reads a file; one that is missing or empty stands for the begin.
    ///
    /// - Throws: A ``FileFailure`` for a file that cannot be read, or is another one.
    init(file path: String) throws(FileFailure) {
        guard let bytes = try OutputFile.read(path), !bytes.isEmpty else { return }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first.map({ $0 == Self.head }) ?? false else { throw Self.malformed(path) }
        for line in lines.dropFirst() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            guard words.count == 4, let end = Int64(words[0]), let start = Int64(words[1]),
                max(end.magnitude, start.magnitude) < 1 << 60
            else { throw Self.malformed(path) }
            positions[words[3]] = Position(end: end, start: start, boot: words[2] == "-" ? "" : words[2])
        }
    }

    /// Replaces the file.
    func write(to path: String) throws(FileFailure) {
        var buffer = ByteBuffer()
        buffer.append("\(Self.head)\n")
        for (target, position) in positions.sorted(by: { $0.key < $1.key }) {
            let boot = position.boot.isEmpty ? "-" : position.boot
            buffer.append("\(position.end) \(position.start) \(boot) \(target)\n")
        }
        try OutputFile.write(&buffer, to: path)
    }

    private static func malformed(_ path: String) -> FileFailure {
        FileFailure(
            "read \(path)", "it is not a cursor of netflags timeline: delete it to write every row again")
    }
}
