// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import NetlinkRecording
@testable import netflags

/// Counters with a cursor beside the rows of a ledger, of recordings whose time was counted before it was a gap.
struct TimelineTotalsTests {
    @Test func `the counters are the sums of the ledger's rows after a recorder is killed and started again`()
        throws
    {
        let host = try CountedHost()
        try host.start(300, hasRoute: true)
        try host.change(250, hasRoute: false)
        try host.change(240, hasRoute: true)
        #expect(try host.counters() == host.rows())
        host.kill()
        #expect(try host.counters() == host.rows())
        try host.start(200, hasRoute: false)
        try host.change(190, hasRoute: true)
        try host.change(180, hasRoute: false)
        try host.change(150, hasRoute: true)
        let counters = try host.counters()
        #expect(counters == CountedHost.Sums(unreachable: 50, unrecorded: 40, losses: 3))
        #expect(try counters == host.rows())
        try host.end(100)
        #expect(try host.counters() == host.rows())
    }

    @Test func `the counters are the sums of the ledger's rows where a recorder could not run`() throws {
        let host = try CountedHost()
        try host.start(300, hasRoute: true)
        #expect(try host.counters() == host.rows())
        try host.stall(150, for: 50, hasRoute: false)
        try host.change(140, hasRoute: true)
        let counters = try host.counters()
        #expect(counters == CountedHost.Sums(unreachable: 10, unrecorded: 50, losses: 1))
        #expect(try counters == host.rows())
    }

    /// The file gets them late, with the times at which they were received.
    @Test func `losses that a recorder writes after they could be read are counted`() throws {
        let host = try CountedHost()
        try host.start(300, hasRoute: true)
        #expect(try host.counters() == host.rows())
        for start in [200, 150, 100] as [Int64] {
            try host.change(start, hasRoute: false)
            try host.change(start - 7, hasRoute: true)
            #expect(try host.counters() == host.rows())
        }
        #expect(try host.counters() == CountedHost.Sums(unreachable: 21, unrecorded: 0, losses: 3))
    }

    @Test
    func
        `a loss whose recorder is killed takes nothing from the counters, which stand until the rows reach them`()
        throws
    {
        let host = try CountedHost()
        try host.start(300, hasRoute: true)
        try host.change(20, hasRoute: false)
        let lost = try host.counters()
        #expect(lost.losses == 1 && lost.unreachable > 18)
        host.kill()
        #expect(try host.counters() == lost)
        try host.start(5, hasRoute: true)
        let resumed = try host.counters()
        #expect(resumed.losses == 1 && resumed.unreachable == lost.unreachable && resumed.unrecorded == 15)
        #expect(try host.rows() == CountedHost.Sums(unreachable: 0, unrecorded: 15, losses: 0))
        // Longer than any run of this test.
        try host.change(-10, hasRoute: false)
        try host.change(-100_010, hasRoute: true)
        try host.end(-100_020)
        #expect(try host.counters() == CountedHost.Sums(unreachable: 100_000, unrecorded: 15, losses: 1))
        #expect(try host.counters() == host.rows())
    }

    @Test func `a file of counters that another version wrote is refused, and says what to do`() throws {
        let text = "netflags-timeline-totals 1\n1800000000000000 0 - 5000000 0 1 0 - - default\n"
        let file = try Scratch(Array(text.utf8))
        let result = try NetflagsProcess.run(
            "timeline", "--format", "prometheus", "--cursor-file", file.path, Night.path, "default")
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains("with this format: delete it to begin anew"), "\(result.errors)")
        #expect(try readRecordingFile(file.path) == Array(text.utf8))
    }
}

/// A recording of this start of the host, which a recorder has open, beside its counters and its ledger.
private final class CountedHost {
    /// Seconds and losses.
    struct Sums: Equatable {
        var unreachable: Double
        var unrecorded: Double
        var losses: Int
    }

    private static let target = "198.51.100.20"

    private let folder: ScratchFolder
    private var path: String { folder.path }
    private let totals: Scratch
    private let cursor: Scratch
    private let now = ClockReading.now
    private var number: UInt64 = 0
    private var descriptor: Int32 = -1
    private var found = Sums(unreachable: 0, unrecorded: 0, losses: 0)

    init() throws {
        (totals, cursor, folder) = (try Scratch(), try Scratch(), try ScratchFolder())
    }

    deinit {
        kill()
    }

    /// Starts a recorder so many seconds ago.
    func start(_ seconds: Int64, hasRoute: Bool) throws {
        let before = number
        number += 1
        let file = "\(path)/\(RecordingDirectory.name(number))"
        descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        WriterLock.lock(descriptor)
        var bytes = RouteRecording.head(clock(seconds))
        bytes.append(.follows(before))
        try write(bytes + RouteRecording.dump(clock(seconds), hasRoute: hasRoute))
        WriterLock.setCurrent(true, descriptor)
    }

    func change(_ seconds: Int64, hasRoute: Bool) throws {
        try write(RouteRecording.change(clock(seconds), hasRoute: hasRoute))
    }

    /// States, so many seconds ago, for how many the recorder could not run.
    func stall(_ seconds: Int64, for duration: UInt64, hasRoute: Bool) throws {
        var bytes = RouteRecording.stamp(clock(seconds))
        bytes.append(.stalled(milliseconds: duration * 1_000))
        try write(bytes + RouteRecording.dump(clock(seconds), hasRoute: hasRoute))
    }

    /// Ends the recorder as SIGKILL does.
    func kill() {
        WriterLock.end(closing: descriptor)
        descriptor = -1
    }

    /// Ends the recorder as SIGTERM does.
    func end(_ seconds: Int64) throws {
        var bytes = RouteRecording.stamp(clock(seconds))
        bytes.append(.end)
        try write(bytes)
        kill()
    }

    func counters() throws -> Sums {
        let result = try NetflagsProcess.run(
            "timeline", "--format", "prometheus", "--cursor-file", totals.path, path, Self.target)
        let samples = MetricsRules.samples(result.output)
        func value(_ name: String) throws -> Double {
            try #require(samples.first { $0.name == "netflags_\(name)_total" }?.value, "\(result.errors)")
        }
        return Sums(
            unreachable: try value("unreachable_seconds"), unrecorded: try value("recording_gap_seconds"),
            losses: Int(try value("losses")))
    }

    /// The sums of all rows so far, in which no loss has two.
    func rows() throws -> Sums {
        let result = try NetflagsProcess.run(
            "timeline", "--json", "--cursor-file", cursor.path, path, Self.target)
        for row in try result.lines.map({ try #require(JSONValue($0)) }) {
            let seconds = try #require(row["durationSeconds"]?.number)
            if row["isRecorded"] == .bool(false) {
                found.unrecorded += seconds
            } else if row["reachable"] == .bool(false) {
                found.unreachable += seconds
                found.losses += 1
            }
        }
        return found
    }

    private func clock(_ seconds: Int64) -> ClockReading {
        var reading = now
        reading.sinceBoot -= seconds * 1_000_000
        reading.sinceEpoch -= seconds * 1_000_000
        return reading
    }

    private func write(_ bytes: [UInt8]) throws {
        guard bytes.write(to: descriptor).reason == nil else {
            throw NetflagsProcess.Failure.cannot("write to the recording", errno)
        }
    }
}
