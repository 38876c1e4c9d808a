// SPDX-License-Identifier: Apache-2.0

import Glibc
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

struct RecordingWriterTests {
    private func copy(_ fixture: RecordingFixture, to path: String) throws {
        var writer = try RecordingWriter(path: path)
        var last: Recording.Time?
        for entry in readRecording(try fixture.bytes).entries {
            var bytes: [UInt8] = []
            if let time = entry.time, time != last { bytes.appendTimeStamp(time) }
            last = entry.time
            entry.bytes.withUnsafeBytes { bytes.appendPadded($0) }
            try writer.append(bytes)
        }
        try writer.finish()
    }

    // A child process has a copy of the descriptor from its start to the program that it executes.
    @Test func `a file that is finished is not being written, though a copy of its descriptor is open`()
        throws
    {
        let file = try TemporaryFile()
        let writer = try RecordingWriter(path: file.path)
        let copy = dup(writer.descriptor)
        defer { close(copy) }
        func state() -> WriterLock.State { WriterLock.state(closing: open(file.path, O_RDONLY | O_CLOEXEC)) }
        writer.setCurrent(true)
        #expect(state() == WriterLock.State(isTaken: true, isCurrent: true))
        try writer.finish()
        #expect(state() == WriterLock.State())
    }

    @Test(arguments: [RecordingFixture.wifi, .policy, .wireguard, .nexthopObjects])
    func `a dump that is read and written gives the same file`(fixture: RecordingFixture) throws {
        let file = try TemporaryFile()
        try copy(fixture, to: file.path)
        #expect(try readFile(file.path) == fixture.bytes)
    }

    @Test(arguments: [RecordingFixture.wwanEvents, .multipathEvents])
    func `notifications that are read and written keep their messages and times`(
        fixture: RecordingFixture
    ) throws {
        let file = try TemporaryFile()
        try copy(fixture, to: file.path)
        let (entries, error) = readRecording(try readFile(file.path))
        let original = readRecording(try fixture.bytes).entries
        #expect(error == nil)
        #expect(entries.map(\.bytes) == original.map(\.bytes))
        #expect(entries.map(\.time) == original.map(\.time))
    }

    @Test func `annotations keep their places between the messages`() throws {
        let file = try TemporaryFile()
        let route = SampleMessage.route(interface: 1)
        var writer = try RecordingWriter(path: file.path)
        for annotation in RecordingAnnotationTests.all {
            try writer.append(annotation)
            try writer.append(route)
        }
        try writer.finish()
        let entries = readRecording(try readFile(file.path)).entries
        #expect(entries.compactMap(\.annotation) == RecordingAnnotationTests.all)
        #expect(entries.enumerated().allSatisfy { $0.offset % 2 == ($0.element.annotation == nil ? 1 : 0) })
    }

    @Test func `an existing file is truncated first`() throws {
        let file = try TemporaryFile(Array(repeating: 1, count: 100_000))
        var writer = try RecordingWriter(path: file.path)
        try writer.append(.end)
        try writer.finish()
        #expect(readRecording(try readFile(file.path)).entries.map(\.annotation) == [.end])
    }

    @Test func `a full disk is reported at the first failed write`() throws {
        let error = #expect(throws: RecordingError.self) {
            var writer = try RecordingWriter(path: "/dev/full")
            try writer.append(.end)
            try writer.finish()
        }
        #expect(error?.reason == .unwritable(ENOSPC, isCut: false))
        #expect(error?.description.contains(String(cString: strerror(ENOSPC))) == true)
    }

    @Test func `a missing folder is reported at once`() {
        let error = #expect(throws: RecordingError.self) {
            _ = try RecordingWriter(path: "/nonexistent/file")
        }
        #expect(error?.reason == .uncreatable(ENOENT))
        #expect(
            error?.description == "/nonexistent/file: \(String(cString: strerror(ENOENT))) (errno \(ENOENT))")
    }

    @Test func `a failed write leaves a cut message in a pipe and reports it`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        try #require(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
        defer { close(ends[1]) }
        // The signal of a pipe without a reader is this thread's.
        var (signals, before) = (sigset_t(), sigset_t())
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer {
            var none = timespec()
            sigtimedwait(&signals, nil, &none)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        // A pipe takes pages: an odd length of message does not fit into its end.
        let setPipeSize: Int32 = 1_031
        try #require(fcntl(ends[1], setPipeSize, 4_096) == 4_096)
        // The reader goes when the pipe is full.
        let reader = ShellCommand("head -c 1 /dev/fd/\(ends[0]) >/dev/null")
        close(ends[0])
        var writer = RecordingWriter(descriptor: ends[1], path: "pipe")
        let route = SampleMessage.route(interface: 1)
        let routes = (0..<100).flatMap { _ in route }
        let whole = UInt64(4_096 / route.count * route.count)
        let expected = RecordingError(path: "pipe", offset: whole, reason: .unwritable(EPIPE, isCut: true))
        #expect(throws: expected) { try writer.append(routes) }
        #expect(throws: expected) { try writer.append(.end) }
        #expect(reader.finish().status == 0)
    }

    /// The advice was to allow netlink sockets.
    @Test func `a file that its user may not write is no refused netlink socket`() {
        let error = RecordingError(path: "a.rtnl", offset: 0, reason: .uncreatable(EACCES))
        #expect(
            ReachabilityError(error).description
                == "cannot write the recording a.rtnl: Permission denied (errno 13)")
    }

    @Test func `a descriptor that does not block takes a whole recording`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        try #require(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
        let file = try TemporaryFile()
        let reader = ShellCommand("sleep 0.1; cat /dev/fd/\(ends[0]) >\(file.path)")
        close(ends[0])
        // Far more than a pipe holds.
        let routes = (0..<10_000).flatMap { _ in SampleMessage.route(interface: 1) }
        var writer = RecordingWriter(descriptor: ends[1], path: "pipe")
        try writer.append(routes)
        try writer.finish()
        close(ends[1])
        #expect(reader.finish().status == 0)
        #expect(try readFile(file.path) == routes)
    }
}
