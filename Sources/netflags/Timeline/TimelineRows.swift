// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The rows of `timeline --json`, which are written as the intervals of a timeline end: target by target.
///
/// Those of the first target go out in portions, and the cursor with them. The rows of the others wait for its end.
struct TimelineRows {
    /// The rows of a target.
    private struct Lane {
        /// What is new of it; `nil` without a cursor.
        var news: TimelineNews?
        let waiting = WaitingText()
        /// The worst answer that is written; `nil` for none.
        var status: ExitStatus?
    }

    private let host: String?
    /// Whether only intervals are written in which packets cannot leave.
    private let areLosses: Bool
    /// Where the cursor is kept; `nil` for none.
    private let cursorFile: String?
    /// The starts of the host in the whole recording; `nil` where the lanes are whole.
    private let boots: [Recording.Boot]?
    /// The cursor as its file has it.
    private var written = TimelineCursor()
    private var cursor = TimelineCursor()
    /// Whether the cursor's file can be written: otherwise the next run would write the same again.
    private var isChecked = false
    private var lanes: [Lane] = []
    private var buffer = ByteBuffer()

    /// Reads the cursor.
    ///
    /// - Parameters:
    ///   - host: The key host of the rows.
    ///   - areLosses: Whether only intervals are written in which packets cannot leave.
    ///   - cursorFile: Where the cursor is kept; `nil` for none.
    ///   - recording: What the timeline is of; `nil` where no interval is taken before all have ended.
    /// - Throws: A ``FileFailure`` of the cursor's file, or an error of the recording.
    init(
        host: String?, areLosses: Bool, cursorFile: String?, of recording: Recording?
    ) throws {
        (self.host, self.areLosses, self.cursorFile) = (host, areLosses, cursorFile)
        if let cursorFile { written = try TimelineCursor(file: cursorFile) }
        cursor = written
        boots = written.lines.isEmpty ? nil : try recording?.boots()
    }

    /// Takes the intervals that have ended.
    mutating func take(_ timeline: inout Timeline) throws(FileFailure) {
        for index in timeline.lanes.indices {
            let ended = timeline.takeEnded(index)
            if !ended.isEmpty { try add(ended, index, timeline.lanes) }
        }
    }

    /// Writes the rest of a timeline that is over, and moves the cursor.
    ///
    /// With a cursor, the last interval of a target is left where it can go on.
    ///
    /// - Parameters:
    ///   - timeline: The timeline.
    ///   - isMistyped: Whether no answer about a target counts.
    /// - Returns: The worst state of the intervals that are written.
    /// - Throws: Why the rows or the cursor cannot be written.
    mutating func finish(
        _ timeline: Timeline, isMistyped: (Timeline.Lane) -> Bool
    ) throws(FileFailure) -> ExitStatus {
        var status = ExitStatus.success
        for (index, lane) in timeline.lanes.enumerated() {
            let canGoOn = cursorFile != nil && !lane.isOver
            try add(canGoOn ? lane.intervals.dropLast() : lane.intervals, index, timeline.lanes)
            try write(lanes[index].news?.finish() ?? [], index, of: lane)
            try lanes[index].waiting.forEachPortion { (portion) throws(FileFailure) in
                buffer.append(bytes: portion)
                try deliver()
            }
            move(past: index, of: lane)
            if let found = lanes[index].status {
                status = status.worse(isMistyped(lane) ? .undetermined : found)
            }
        }
        try deliver()
        return status
    }

    private mutating func add(
        _ intervals: [Timeline.Interval], _ index: Int, _ all: [Timeline.Lane]
    ) throws(FileFailure) {
        let lane = all[index]
        if lanes.isEmpty { lanes = all.map { _ in Lane() } }
        guard cursorFile != nil else { return try write(intervals, index, of: lane) }
        // Of a target that is given twice, all is written.
        guard !all[..<index].contains(where: { $0.target == lane.target }) else { return }
        if lanes[index].news == nil {
            lanes[index].news = TimelineNews(since: written.lines[lane.target], boots: boots ?? lane.boots)
        }
        for interval in intervals {
            try write(lanes[index].news?.take(interval) ?? [], index, of: lane)
        }
    }

    private mutating func write(
        _ intervals: [Timeline.Interval], _ index: Int, of lane: Timeline.Lane
    ) throws(FileFailure) {
        for interval in intervals where !areLosses || interval.isReachable == false {
            if let answer = interval.answer {
                let status = ExitStatus(isReachable: answer.isReachable)
                lanes[index].status = lanes[index].status?.worse(status) ?? status
            }
            guard index == 0 else {
                var row = ByteBuffer()
                interval.writeJSON(host: host, target: lane.target, to: &row)
                lanes[index].waiting.append(&row)
                continue
            }
            interval.writeJSON(host: host, target: lane.target, to: &buffer)
            guard buffer.bytes.count > WaitingText.portion else { continue }
            move(past: index, of: lane)
            try deliver()
        }
    }

    /// Moves the cursor past what is written of a target.
    private mutating func move(past index: Int, of lane: Timeline.Lane) {
        if let position = lanes[index].news?.position { cursor.lines[lane.target] = position }
    }

    /// Writes the rows, and then the cursor.
    private mutating func deliver() throws(FileFailure) {
        if let cursorFile, !isChecked, cursor != written || !buffer.bytes.isEmpty {
            try written.write(to: cursorFile)
            isChecked = true
        }
        try Output.standard.deliver(&buffer)
        guard let cursorFile, cursor != written else { return }
        try cursor.write(to: cursorFile)
        written = cursor
    }
}

/// Text that is written later: what is more than a portion is in a file without a name, or in memory where there can be
/// none.
final class WaitingText {
    /// The bytes that are written at once.
    static let portion = 1 << 20
    /// O_TMPFILE of `fcntl.h`, which the Glibc module does not import.
    private static let unnamed: Int32 = 0o20000000 | O_DIRECTORY

    private var bytes: [UInt8] = []
    private var descriptor: Int32 = -1
    /// The bytes in the file.
    private var stored = 0
    private var isFull = false

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Adds a text, and empties its buffer.
    func append(_ text: inout ByteBuffer) {
        bytes += text.bytes
        text.removeAll()
        if bytes.count > Self.portion, !isFull { store() }
    }

    private func store() {
        if descriptor < 0 {
            let folders = [getenv("TMPDIR").map { String(fileName: $0) }, "/var/tmp", "/tmp"].compactMap(
                \.self)
            for folder in folders where descriptor < 0 {
                descriptor = open(folder.fileName, Self.unnamed | O_RDWR | O_EXCL | O_CLOEXEC, 0o600)
            }
        }
        isFull = FileBytes.write(bytes, to: descriptor).number != 0
        guard !isFull else { return }
        stored += bytes.count
        bytes.removeAll(keepingCapacity: true)
    }

    /// Passes on the text, portion by portion.
    func forEachPortion(_ body: ([UInt8]) throws(FileFailure) -> Void) throws(FileFailure) {
        if stored > 0 { lseek(descriptor, 0, SEEK_SET) }
        while stored > 0 {
            let (portion, number) = FileBytes.read(descriptor, upTo: min(Self.portion, stored))
            guard !portion.isEmpty else {
                throw FileFailure("read the rows that wait", number == 0 ? EIO : number)
            }
            try body(portion)
            stored -= portion.count
        }
        if !bytes.isEmpty { try body(bytes) }
    }
}
