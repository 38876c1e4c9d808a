// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkRecording

/// Files that are missing in the middle of a directory: the time that they held was drawn as recorded.
struct MissingFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Writes files of one recorder, each with a notification of its second.
    private func record(_ seconds: ClosedRange<UInt32>) throws {
        var rotation = try RecordingRotation(path: folder.path, limit: 1 << 20)
        for second in seconds {
            try rotation.begin(
                second == seconds.lowerBound ? nil : .continued,
                RecordingRotationTests.snapshot(second * 100))
            try rotation.append(RecordingRotationTests.events(second * 100 + 1, count: 1))
        }
        try rotation.append(.end)
        try rotation.end()
    }

    /// The seconds of the notifications, divided by 100, and what is said about files.
    private func read(from start: Int64? = nil) throws -> [String] {
        let time = start.map { Recording.Time(microsecondsSince1970: $0 * 100_000_000) }
        var stream = try RecordingStream(path: folder.path, from: time)
        var found: [String] = []
        while let text = stream.next({ entry -> String in
            switch entry.content {
            case .message(let message) where !message.isDumped: "\((entry.time?.seconds ?? 0) / 100)"
            case .fileEnd(let error?): error.description
            default: ""
            }
        }) {
            if !text.isEmpty { found.append(text) }
        }
        return found
    }

    /// What is said about a file that is missing.
    private func missing(_ number: UInt64) -> String { "\(folder.path(number)): the file is missing" }

    @Test func `a file that is missing between others is named where it was`() throws {
        try record(1...5)
        unlink(folder.path(2))
        #expect(try read() == ["1", missing(2), "3", "4", "5"])
        // Where more are missing, the last of them stands for all.
        unlink(folder.path(3))
        #expect(try read() == ["1", missing(3), "4", "5"])
        // Those before the start are not looked for.
        #expect(try read(from: 5) == ["5"])
    }

    @Test func `the oldest files are not missing, because a recorder deletes them`() throws {
        try record(1...4)
        unlink(folder.path(1))
        unlink(folder.path(2))
        #expect(try read() == ["3", "4"])
    }

    @Test func `the number of a name that others took is not missing`() throws {
        mkfifo(folder.path(2), 0o600)
        try record(1...3)
        #expect(folder.names.count == 4)
        #expect(try read() == ["1", "2", "3"])
        unlink(folder.path(2))
        #expect(try read() == ["1", "2", "3"])
        unlink(folder.path(3))
        #expect(try read() == ["1", missing(3), "3"])
    }

    @Test func `the last file of an earlier recorder is missing, too`() throws {
        try record(1...2)
        try record(3...4)
        unlink(folder.path(2))
        #expect(try read() == ["1", missing(2), "3", "4"])
    }

    @Test func `a recorder that begins anew in an empty directory misses nothing`() throws {
        try record(1...2)
        for number in 1...2 as ClosedRange<UInt64> { unlink(folder.path(number)) }
        try record(3...4)
        #expect(try read() == ["3", "4"])
    }

    // MARK: Files that do not say which one they follow

    private func write(_ number: UInt64, isContinued: Bool = true) throws {
        var bytes: [UInt8] = []
        bytes.append(.origin("Linux 6.1.0 x86_64"))
        if isContinued { bytes.append(.continued) }
        let second = UInt32(number) * 100
        bytes += RecordingRotationTests.snapshot(second).bytes
        try folder.write(number, bytes + RecordingRotationTests.events(second + 1, count: 1))
    }

    @Test func `a file of an earlier version follows the number before its own`() throws {
        try write(1, isContinued: false)
        try write(2)
        try write(4)
        #expect(try read() == ["1", "2", missing(3), "4"])
        // A name that others took was passed over.
        mkfifo(folder.path(3), 0o600)
        #expect(try read() == ["1", "2", "4"])
    }
}
