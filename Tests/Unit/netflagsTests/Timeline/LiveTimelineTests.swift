// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Testing

@testable import NetlinkRecording
@testable import netflags

/// A recording whose recorder goes on: its last entry is some seconds before now, and nothing has changed since.
struct LiveTimelineTests {
    @Test func `a recorder that goes on extends the last span, and one that is gone does not`() throws {
        let host = try RunningRecorder(lossBegins: 30)
        let running = try host.timeline()
        #expect(running.isBeingWritten && running.lastEntry == host.lastEntry)
        #expect(host.lastEntry.duration(to: running.end) > .seconds(28))
        #expect(running.lanes[0].intervals.last?.end == running.end)
        host.kill()
        let killed = try host.timeline()
        #expect(!killed.isBeingWritten && killed.end == host.lastEntry)
    }

    @Test func `a span can begin after the last entry of a recorder that goes on`() throws {
        let host = try RunningRecorder(lossBegins: 30)
        let start = Recording.Time(microsecondsSince1970: host.lastEntry.microsecondsSince1970 + 9_000_000)
        let timeline = try host.timeline(from: start)
        #expect(timeline.start == start && timeline.lanes[0].intervals.map(\.state) == [.unreachable])
        #expect(timeline.lanes[0].intervals.first?.start == start)
    }

    /// On a quiet host nothing follows for hours.
    @Test func `a loss is printed when the recovery is the last entry of a recorder that goes on`() throws {
        let host = try RunningRecorder(lossBegins: 30, ends: 10)
        let result = try host.ledger()
        #expect(result.lines.count == 1 && result.status == 1, "\(result.output)")
        let again = try host.ledger()
        #expect(again.output.isEmpty && again.status == 0)
    }

    /// The recorder is killed between the recovery and what may have followed at once.
    @Test
    func `a loss that goes on is not printed, nor one whose recovery is the last entry of a killed one`()
        throws
    {
        let lost = try RunningRecorder(lossBegins: 30)
        #expect(try lost.ledger().output.isEmpty)
        let recovered = try RunningRecorder(lossBegins: 30, ends: 10)
        recovered.kill()
        #expect(try recovered.ledger().output.isEmpty)
    }

    @Test func `a loss is printed when its recorder has ended, and not again`() throws {
        let host = try RunningRecorder(lossBegins: 30)
        host.end()
        #expect(try host.ledger().lines.count == 1)
        #expect(try host.ledger().output.isEmpty)
    }

    @Test func `counters grow while a loss goes on, and not after the recorder is killed`() throws {
        let host = try RunningRecorder(lossBegins: 30)
        var totals = TimelineTotals()
        totals.add(try host.timeline())
        let first = try #require(totals.lines[RunningRecorder.target]?.sums)
        #expect(first.losses == 1 && first.unreachable > 28_000_000 && first.lossEnd == nil)
        host.kill()
        totals.add(try host.timeline())
        #expect(totals.lines[RunningRecorder.target]?.sums.counters == first.counters)
    }

    /// It ended the loss where the recorder had received and not written what came after it.
    @Test func `while a recorder dumps, its recording lasts to its last entry`() throws {
        let host = try RunningRecorder(lossBegins: 30)
        host.dump()
        let timeline = try host.timeline()
        #expect(timeline.isBeingWritten && timeline.end == host.lastEntry)
    }

    @Test func `a reader takes no lock from a recorder`() throws {
        let file = try Scratch()
        let reader = open(file.path, O_RDONLY | O_CLOEXEC)
        let recorder = open(file.path, O_WRONLY | O_CLOEXEC)
        defer { close(reader) }
        #expect(WriterLock.state(closing: dup(reader)) == .init())
        WriterLock.lock(recorder)
        #expect(WriterLock.state(closing: dup(reader)) == .init(isTaken: true))
        WriterLock.setCurrent(true, recorder)
        #expect(WriterLock.state(closing: dup(reader)) == .init(isTaken: true, isCurrent: true))
        WriterLock.end(closing: recorder)
        #expect(WriterLock.state(closing: dup(reader)) == .init())
    }
}

/// A file that a recorder has open.
private final class RunningRecorder {
    static let target = "198.51.100.20"

    let lastEntry: Recording.Time
    private let file: Scratch
    private let cursor: Scratch
    private var descriptor: Int32

    /// A host whose default route went, and came back or not, so many seconds ago.
    init(lossBegins begin: Int64, ends end: Int64? = nil) throws {
        let now = ClockReading.now
        func clock(_ seconds: Int64) -> ClockReading {
            var reading = now
            reading.sinceBoot -= seconds * 1_000_000
            reading.sinceEpoch -= seconds * 1_000_000
            return reading
        }
        var bytes = RouteRecording.head(clock(begin + 10))
        bytes += RouteRecording.dump(clock(begin + 10), hasRoute: true)
        bytes += RouteRecording.change(clock(begin), hasRoute: false)
        if let end { bytes += RouteRecording.change(clock(end), hasRoute: true) }
        (file, cursor) = (try Scratch(bytes), try Scratch())
        lastEntry = clock(end ?? begin).time
        descriptor = open(file.path, O_WRONLY | O_APPEND | O_CLOEXEC)
        WriterLock.lock(descriptor)
        WriterLock.setCurrent(true, descriptor)
    }

    deinit { kill() }

    /// Ends the locks too: a child process that another thread has just started has the file open for a moment.
    func kill() {
        WriterLock.end(closing: descriptor)
        descriptor = -1
    }

    /// Goes on as a recorder does that dumps the tables.
    func dump() {
        WriterLock.setCurrent(false, descriptor)
    }

    /// Ends the recorder as a signal does.
    func end() {
        var bytes = RouteRecording.stamp(.now)
        bytes.append(.end)
        _ = bytes.write(to: descriptor)
        kill()
    }

    func timeline(from start: Recording.Time? = nil) throws -> Timeline {
        try Timeline(
            of: Recording(path: file.path), [(text: Self.target, target: .host(Self.target))],
            ReachabilityOptions(), onChangeOf: .flags, from: start)
    }

    /// The losses since the last call.
    func ledger() throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(
            "timeline", "--json", "--losses", "--cursor-file", cursor.path, file.path, Self.target)
    }
}
