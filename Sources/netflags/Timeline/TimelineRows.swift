// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The rows of `timeline --json`, which are written target by target, as the intervals of a timeline end.
///
/// The rows of the first target are written in portions, together with the cursor. The rows of the other targets wait
/// until the first target is complete.
struct TimelineRows {
    /// The rows of a target.
    private struct Lane {
        /// The new intervals of the target; `nil` without a cursor.
        var news: TimelineNews?
        let waiting = WaitingText()
        /// The worst answer that has been written; `nil` if there is none.
        var status: ExitStatus?
    }

    private let host: String?
    /// Whether only intervals in which packets cannot leave or nothing answers are written.
    private let areLosses: Bool
    /// The cursor file; `nil` for none.
    private let cursorFile: String?
    /// The boots of the host in the whole recording; `nil` if the lanes are complete.
    private let boots: [Recording.Boot]?
    /// The cursor as stored in its file.
    private var written = TimelineCursor()
    private var cursor = TimelineCursor()
    /// Whether the cursor file can be written: otherwise the next run would write the same rows again.
    private var isChecked = false
    private var lanes: [Lane] = []
    private var buffer = ByteBuffer()

    /// Reads the cursor.
    ///
    /// - Parameters:
    ///   - host: The value of the key `host` in the rows.
    ///   - areLosses: Whether only intervals in which packets cannot leave or nothing answers are written.
    ///   - cursorFile: The cursor file; `nil` for none.
    ///   - recording: The recording of the timeline; `nil` if no interval is added before all intervals have ended.
    /// - Throws: A ``FileFailure`` of the cursor file, or an error of the recording.
    init(
        host: String?, areLosses: Bool, cursorFile: String?, of recording: Recording?
    ) throws {
        (self.host, self.areLosses, self.cursorFile) = (host, areLosses, cursorFile)
        if let cursorFile { written = try TimelineCursor(file: cursorFile) }
        cursor = written
        boots = written.lines.isEmpty ? nil : try recording?.boots()
    }

    /// Adds the intervals that have ended.
    mutating func add(_ timeline: inout Timeline) throws(FileFailure) {
        for index in timeline.lanes.indices {
            let ended = timeline.removeEnded(index)
            if !ended.isEmpty { try add(ended, index, timeline.lanes) }
        }
    }

    /// Writes the remaining rows of a timeline that has ended, and moves the cursor.
    ///
    /// With a cursor, the last interval of a target is not written if it can continue.
    ///
    /// - Parameters:
    ///   - timeline: The timeline.
    ///   - isMistyped: Whether no answer about a target counts, because its name is mistyped.
    /// - Returns: The worst state of the written intervals.
    /// - Throws: An error if the rows or the cursor cannot be written.
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
        // A target that is given twice is written once, completely.
        guard !all[..<index].contains(where: { $0.target == lane.target }) else { return }
        if lanes[index].news == nil {
            lanes[index].news = TimelineNews(since: written.lines[lane.target], boots: boots ?? lane.boots)
        }
        for interval in intervals {
            try write(lanes[index].news?.read(interval) ?? [], index, of: lane)
        }
    }

    private mutating func write(
        _ intervals: [Timeline.Interval], _ index: Int, of lane: Timeline.Lane
    ) throws(FileFailure) {
        for interval in intervals where !areLosses || interval.isLoss {
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

    /// Moves the cursor past the written intervals of a target.
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

/// Text that is written later.
///
/// Text beyond a portion is in a file without a name, or in memory if such a file cannot be created.
final class WaitingText {
    /// The number of bytes that are written together.
    static let portion = 1 << 18
    /// O_TMPFILE of `fcntl.h`, which the Glibc module does not import.
    private static let unnamed: Int32 = 0o20000000 | O_DIRECTORY

    private var bytes: [UInt8] = []
    private var descriptor: Int32 = -1
    /// The number of bytes in the file.
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

    /// Passes the text to the body, portion by portion.
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
