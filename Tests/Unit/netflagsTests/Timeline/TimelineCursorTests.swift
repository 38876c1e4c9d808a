// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Testing

@testable import NetlinkRecording
@testable import netflags

struct TimelineCursorTests {
    @Test func `a second run prints no row`() throws {
        let nights = try Nights(1)
        let first = try nights.run()
        #expect(first.status == 1)
        #expect(first.lines == (try nights.rows().lines))
        let second = try nights.run()
        #expect(second.output.isEmpty && second.errors.isEmpty)
        #expect(second.status == 0)
    }

    @Test func `of a recording that grows, each span that has ended is found once`() throws {
        let bytes = try readRecordingFile(Night.path)
        var cursor = TimelineCursor()
        var found: [Timeline.Interval] = []
        for length in stride(from: bytes.count / 4, to: bytes.count, by: 1_021) + [bytes.count] {
            let file = try Scratch(Array(bytes.prefix(length)))
            guard let lane = try? Self.lane(file.path) else { continue }
            found += cursor.advance(over: lane)
        }
        #expect(found == (try Self.lane(Night.path).intervals))
        #expect(found.count > 4)
    }

    @Test func `the removal of the first file of a directory prints no row again`() throws {
        let nights = try Nights(1, 2)
        let first = try nights.run()
        nights.remove(1)
        #expect(try nights.run().output.isEmpty)
        try nights.add(3)
        let second = try nights.run()
        nights.remove(2)
        try nights.add(4)
        let third = try nights.run()
        let all = try Nights(1, 2, 3, 4).rows()
        #expect(first.lines + second.lines + third.lines == all.lines)
    }

    /// Its times are before those that were printed.
    @Test func `the rows of a start of the host whose clock is behind are new`() throws {
        let nights = try Nights()
        try nights.add(1, clockSetBy: 10_000_000)
        #expect(!(try nights.run().lines.isEmpty))
        nights.remove(1)
        try nights.add(2, boot: 7)
        try nights.add(3, boot: 7)
        let second = try nights.run()
        #expect(second.lines == (try nights.rows().lines) && second.lines.count > 2)
    }

    @Test func `the rows of another start of the host are new`() throws {
        let nights = try Nights(1)
        let first = try nights.run()
        nights.remove(1)
        try nights.add(2, boot: 7)
        try nights.add(3, boot: 7)
        let second = try nights.run()
        #expect(second.lines == (try nights.rows().lines))
        let boots = (first.lines + second.lines).map { JSONValue($0)?["bootID"]?.string }
        #expect(boots.contains("00000000000000000000000000000005"))
        #expect(boots.last == "00000000000000000000000000000007")
    }

    /// The times of a start of the host are those of its last clock.
    @Test func `a clock that is set moves the times of the rows, and prints none again`() throws {
        let nights = try Nights(1)
        let first = try nights.run()
        try nights.add(2, clockSetBy: 86_400)
        let second = try nights.run()
        let all = try nights.rows().lines
        #expect(second.lines == Array(all.dropFirst(first.lines.count)))
        #expect(first.lines.first != all.first)
    }

    @Test func `no row is printed where the cursor cannot be written`() throws {
        let nights = try Nights(1)
        #expect(symlink("/dev/null", nights.cursor) == 0)
        let result = try nights.run()
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains("cannot read"), "\(result.errors)")
        #expect(result.errors.contains("it is a symbolic link: give the file itself\n"), "\(result.errors)")
    }

    @Test func `rows that could not be written come with the next run`() throws {
        let nights = try Nights(1)
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path] + nights.arguments, descriptors: [STDIN_FILENO, full, full])
        #expect(try NetflagsProcess.end(process).status == 2)
        #expect(try nights.run().lines == nights.rows().lines)
    }

    /// The unit of a ledger can start before the first event.
    @Test func `a recording that holds no time yet has no row`() throws {
        let nights = try Nights()
        let path = Recordings.path("01-dummy/02-up-default-routes")
        let result = try NetflagsProcess.run(
            "timeline", "--json", "--cursor-file", nights.cursor, path, "default")
        #expect(result.status == 0 && result.output.isEmpty && result.errors.isEmpty)
    }

    @Test func `a span without time is an error with a cursor too`() throws {
        let nights = try Nights(1)
        let result = try NetflagsProcess.run(nights.arguments + ["--from", "2031-01-01T00:00:00Z"])
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains("holds no time in the span"), "\(result.errors)")
    }

    @Test func `a file that is too large for a cursor is refused`() throws {
        let nights = try Nights(1)
        let file = try Scratch([])
        #expect(truncate(file.path, 17 << 20) == 0)
        let result = try nights.run(cursor: file.path)
        #expect(result.status == 2 && result.errors.contains("File too large"), "\(result.errors)")
    }

    @Test func `a file that is no cursor is refused`() throws {
        let nights = try Nights(1)
        for text in ["something else\n", "netflags-timeline 1\nsoon 0 - default\n"] {
            let file = try Scratch(Array(text.utf8))
            let result = try nights.run(cursor: file.path)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errors.contains("delete it"), "\(result.errors)")
            #expect(try readRecordingFile(file.path) == Array(text.utf8))
        }
    }

    private static func lane(_ path: String) throws -> Timeline.Lane {
        var replay = try Recording(path: path).replay(
            of: [.report(of: .host("198.51.100.20"), .full)])
        var timeline = Timeline(targets: ["198.51.100.20"])
        while let step = try replay.next() { timeline.apply(step, of: replay.boot) }
        let (start, end) = (replay.start, replay.end)
        timeline.finish(start: try #require(start), end: try #require(end))
        return timeline.lanes[0]
    }
}

extension TimelineCursor {
    /// Returns the intervals of a lane that have ended since the last one, and moves past them.
    mutating func advance(over lane: Timeline.Lane) -> [Timeline.Interval] {
        lane.ended(since: &lines[lane.target])
    }
}

/// A directory with a night in each file, which begins two hours after the one before.
private final class Nights {
    private let folder: ScratchFolder
    var path: String { folder.path }
    var cursor: String { path + "/cursor" }
    var arguments: [String] {
        ["timeline", "--json", "--cursor-file", cursor, path, "198.51.100.20"]
    }

    init(_ numbers: UInt64...) throws {
        folder = try ScratchFolder()
        for number in numbers { try add(number) }
    }

    /// Adds a file whose clock is set by some seconds, of a start of the host.
    func add(_ number: UInt64, clockSetBy seconds: Int64 = 0, boot: UInt128 = 5) throws {
        let step = Int64(number) * 7_200 + seconds
        var bytes: [UInt8] = []
        let uptime = Int64(1_000_000_000)
        bytes.append(
            .clock(
                ClockReading(boot: boot, sinceBoot: uptime, sinceEpoch: uptime + seconds * 1_000_000)))
        var rest = try readRecordingFile(Night.path)[...]
        while rest.count >= 16 {
            let header = rest.withUnsafeBytes { RecordingHeader($0) }
            var message = Array(rest.prefix(RecordingFormat.padded(Int(header.length))))
            rest = rest.dropFirst(message.count)
            if header.type == RecordingFormat.timeStamp {
                message.withUnsafeMutableBytes { bytes in
                    let old = bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
                    bytes.storeBytes(of: old + UInt32(step), toByteOffset: 16, as: UInt32.self)
                }
            }
            bytes += message
        }
        let descriptor = open(file(number), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw NetflagsProcess.Failure.cannot("write \(file(number))", errno)
        }
    }

    func remove(_ number: UInt64) { unlink(file(number)) }

    /// The rows since the cursor.
    func run(cursor: String? = nil) throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(arguments.map { $0 == self.cursor ? cursor ?? $0 : $0 })
    }

    /// All rows.
    func rows() throws -> NetflagsProcess.Result {
        try NetflagsProcess.run("timeline", "--json", path, "198.51.100.20")
    }

    private func file(_ number: UInt64) -> String { "\(path)/\(RecordingDirectory.name(number))" }
}
