// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import SystemSupport
import Testing

@testable import NetlinkRecording
@testable import netflags

struct TimelineRowsTests {
    private static let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    private static let targets = ["198.51.100.20", "192.0.2.1", "default", "198.51.100.20"]

    @Test func `of a recording with many losses, few intervals are in memory`() throws {
        let file = try Scratch(RouteRecording.losses(100))
        var (most, taken) = (0, 0)
        let timeline = try Timeline(
            of: Recording(path: file.path), [(text: "default", target: .defaultPath)], ReachabilityOptions(),
            onChangeOf: .flags
        ) { timeline in
            taken += timeline.removeEnded(0).count
            most = max(most, timeline.lanes[0].intervals.count)
        }
        #expect(most == 2 && taken + timeline.lanes[0].intervals.count == 200)
    }

    @Test func `rows are written before the recording ends`() throws {
        // What the process does not read while its output is full finds room in the pipe.
        let bytes = RouteRecording.losses(320)
        var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard socketpair(AF_UNIX, Self.kind, 0, &input) == 0, socketpair(AF_UNIX, Self.kind, 0, &output) == 0
        else {
            throw NetflagsProcess.Failure.cannot("make pipes", errno)
        }
        defer { close(output[0]) }
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path, "timeline", "--json", "-", "default"],
            descriptors: [input[0], output[1], STDERR_FILENO])
        close(input[0])
        close(output[1])
        #expect(write(input[1], bytes, bytes.count) == bytes.count)
        var wait = pollfd(fd: output[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&wait, 1, 60_000) == 1)
        close(input[1])
        let (rows, _) = FileBytes.read(output[0], upTo: .max)
        #expect(rows.count { $0 == UInt8(ascii: "\n") } == 640)
        #expect(try NetflagsProcess.end(process).status == 1)
    }

    @Test func `the cursor moves with the rows that are written`() throws {
        let file = try Scratch(RouteRecording.losses(320))
        let cursor = try Scratch()
        unlink(cursor.path)
        let arguments = ["timeline", "--json", "--cursor-file", cursor.path, file.path, "default"]
        var output: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Self.kind, 0, &output) == 0 else {
            throw NetflagsProcess.Failure.cannot("make a pipe", errno)
        }
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path] + arguments, descriptors: [STDIN_FILENO, output[1], STDERR_FILENO])
        close(output[1])
        // The reader of the first portion goes away.
        var first = [UInt8](repeating: 0, count: WaitingText.portion)
        var count = 0
        while count < first.count {
            let status = read(output[0], &first[count], first.count - count)
            guard status > 0 else { break }
            count += status
        }
        close(output[0])
        _ = try NetflagsProcess.end(process)
        let rest = try NetflagsProcess.run(arguments).lines.count
        let all = try NetflagsProcess.run("timeline", "--json", file.path, "default").lines.count
        #expect(rest < all - 250 && all == 640)
    }

    @Test(arguments: [false, true], [false, true])
    func `rows that are written as they end are those of the whole timeline`(
        ofLosses: Bool, withCursor: Bool
    ) throws {
        let many = try Self.many
        for path in [Night.path, many.path] {
            let picture = try Scratch()
            let cursors = [try Scratch(), try Scratch()]
            for cursor in cursors { unlink(cursor.path) }
            let results = try [[], ["--svg", picture.path]].enumerated().map { place, options in
                let cursor = withCursor ? ["--cursor-file", cursors[place].path] : []
                let losses = ofLosses ? ["--losses"] : []
                return try NetflagsProcess.run(
                    ["timeline", "--json"] + options + cursor + losses + [path] + Self.targets)
            }
            #expect(results[0].output == results[1].output && results[0].status == results[1].status)
            #expect(results[0].lines.count > 4)
            guard withCursor else { continue }
            #expect(try readRecordingFile(cursors[0].path) == readRecordingFile(cursors[1].path))
        }
    }

    @Test func `an interface that exists in no interval makes a timeline undetermined`() throws {
        let file = try Self.many
        let result = try NetflagsProcess.run(
            "timeline", "--json", file.path, "198.51.100.20%eth7")
        #expect(result.status == 2 && result.errors.contains("eth7"), "\(result)")
    }

    @Test func `text waits in a file and comes back as it was`() throws {
        let text = WaitingText()
        var whole: [UInt8] = []
        for number in 0..<30_000 {
            var buffer = ByteBuffer()
            buffer.append("\(number) \(String(repeating: "x", count: 90))\n")
            whole += buffer.bytes
            text.append(&buffer)
        }
        var found: [UInt8] = []
        try text.forEachPortion { (portion) throws(FileFailure) in found += portion }
        #expect(found == whole && whole.count > 2 * WaitingText.portion)
    }

    private static var many: Scratch {
        get throws { try Scratch(RouteRecording.losses(60)) }
    }
}
