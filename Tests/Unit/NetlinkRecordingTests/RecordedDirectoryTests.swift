// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkRecording

/// A directory that is read while its recorder writes.
struct RecordedDirectoryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A file with a dump and a notification of its second.
    private func bytes(_ second: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(.origin("Linux 6.1.0 x86_64"))
        bytes.append(.follows(UInt64(second - 1)))
        bytes.append(.continued)
        return bytes + RecordingRotationTests.snapshot(second * 100).bytes
            + RecordingRotationTests.events(second * 100 + 1, count: 1)
    }

    /// Adds bytes to a file, which then seems to have been written just now, however slow the machine is.
    private func append(_ bytes: ArraySlice<UInt8>, to number: UInt64) throws {
        let file = open(folder.path(number), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        try #require(Array(bytes).write(to: file).count == bytes.count)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_sec += 1_000
        let times = [now, now]
        try #require(futimens(file, times) == 0)
    }

    /// The seconds of the notifications, divided by 100, and what is said about files.
    private func read(_ stream: consuming RecordingStream) -> [String] {
        var stream = stream
        var found: [String] = []
        while let text = stream.next({ entry -> String in
            switch entry.content {
            case .message(let message) where !message.isDumped: "\((entry.time?.seconds ?? 0) / 100)"
            case .annotation(.dumpBegins): "["
            case .annotation(.dumpEnds): "]"
            case .fileEnd(let error?): error.description
            default: ""
            }
        }) {
            if !text.isEmpty { found.append(text) }
        }
        return found
    }

    /// The files that were not read yet were passed over, and with them the time that was asked for.
    @Test(arguments: [nil, 250 as Int64])
    func `files that are deleted while a directory is read are read to their end`(start: Int64?) throws {
        for number in 1...5 as ClosedRange<UInt64> { try folder.write(number, bytes(UInt32(number))) }
        let time = start.map { Recording.Time(microsecondsSince1970: $0 * 1_000_000) }
        let stream = try RecordingStream(path: folder.path, from: time)
        for number in 1...5 as ClosedRange<UInt64> { unlink(folder.path(number)) }
        let first = start == nil ? 1 : 2
        #expect(read(stream) == (first...5).flatMap { ["[", "]", "\($0)"] })
    }

    /// The oldest files make room for a dump before it is written: a reader found none that was whole.
    @Test func `a directory is read again while its recorder is in the middle of a dump`() throws {
        let whole = bytes(1)
        let dump = try #require(whole.firstRange(of: RecordingAnnotation.dumpEnds.payload)).lowerBound
        // Before the dump, within a message of it, between two, and before its end.
        for cut in [48, dump - 100, dump - 16, whole.count - 60] {
            unlink(folder.path(1))
            try append(whole[..<cut], to: 1)
            var pauses = 0
            let stream = try RecordingStream(path: folder.path) {
                pauses += 1
                try? append(whole[cut...], to: 1)
            }
            #expect(read(stream) == ["[", "]", "1"] && pauses == 1, "\(cut)")
        }
    }

    @Test func `what is written while a directory is read is not read in part`() throws {
        try folder.write(1, bytes(1))
        let stream = try RecordingStream(path: folder.path)
        try append(bytes(2)[..<200], to: 1)
        #expect(read(stream) == ["[", "]", "1"])
    }

    @Test func `a recorder that died in the middle of a dump holds up no reader`() throws {
        try folder.write(1, Array(bytes(1)[..<200]))
        let long = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
        let file = open(folder.path(1), O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        futimens(file, [long, long])
        _ = read(try RecordingStream(path: folder.path) { Issue.record("there is nothing to wait for") })
    }

    @Test func `more files than are held open are read, too`() throws {
        for number in 1...100 as ClosedRange<UInt64> { try folder.write(number, bytes(UInt32(number))) }
        #expect(read(try RecordingStream(path: folder.path)).count == 300)
    }
}
