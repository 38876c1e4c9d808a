// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

@testable import NetlinkRecording

/// A month of a host whose default route comes and goes, as its recorder writes it: on a clock of the test's own.
///
/// The clock of the host is set, the recorder is started again, killed and overrun, the machine sleeps and starts
/// again, and the oldest files are deleted.
final class LedgerMonth {
    static let target = "198.51.100.20"
    static let length: Int64 = 30 * 86_400 * 1_000_000
    private static let second: Int64 = 1_000_000

    /// What was so for a time.
    struct Span: Equatable {
        enum State { case reachable, unreachable, unrecorded }
        var state: State
        var microseconds: Int64
        /// Whether the clocks of the recording can know how long it was: not what lies between two starts of the host.
        var isMeasured = true
    }

    private let folder: ScratchFolder
    var path: String { folder.path }
    private(set) var spans: [Span] = []
    /// How often each thing happened.
    private(set) var counts: [Happening: Int] = [:]
    private(set) var files: ClosedRange<UInt64> = 1...1

    private var random: SeededGenerator
    /// The microseconds of the month that have passed.
    private(set) var now: Int64 = 0
    private var hostStart: Int64
    /// What the clock shows at the begin of the month.
    private var offset: Int64 = 1_800_000_000 * 1_000_000
    private var boot: UInt128 = 1
    private var hasRoute = true
    private var since: (time: Int64, state: Span.State) = (0, .unrecorded)
    private var lastEntry: Int64 = 0
    private var entries = 0

    enum Happening: CaseIterable {
        case change, clock, restart, kill, overrun, sleep, reboot
    }

    /// What can happen.
    let happenings: [Happening]

    init(seed: UInt64, restartsHost: Bool) throws {
        happenings = Happening.allCases.filter { restartsHost || $0 != .reboot }
        random = SeededGenerator(seed: seed)
        hostStart = -Int64.random(in: 60...86_400, using: &random) * Self.second
        folder = try ScratchFolder()
        try write(head(after: 0) + dump(), to: 1)
        since = (0, .reachable)
    }

    /// Whether the month is over.
    var isOver: Bool { now >= Self.length }

    /// Lets the next thing happen.
    func step() throws {
        let pause = random.pick([3, 90, 3_600, 20_000, 40_000] as [Int64])
        now += Int64.random(in: 2 * Self.second...pause * Self.second, using: &random)
        let happening = Int.random(in: 0..<4, using: &random) > 0 ? .change : random.pick(happenings)
        counts[happening, default: 0] += 1
        switch happening {
        case .change:
            hasRoute.toggle()
            try write(RouteRecording.change(reading, hasRoute: hasRoute))
            turn(to: known, at: now)
        case .clock:
            var bytes = stamp()
            offset += Int64.random(in: -86_400...86_400, using: &random) * Self.second
            bytes.append(.clock(reading))
            try write(bytes)
        case .restart:
            // The time of the end, the closing dump, and the end.
            var bytes = stamp() + dump()
            bytes.append(.end)
            try write(bytes)
            turn(to: .unrecorded, at: now)
            try resume()
        case .kill:
            turn(to: .unrecorded, at: lastEntry)
            try resume()
        case .overrun:
            turn(to: .unrecorded, at: lastEntry)
            try gap(.overrun)
        case .sleep:
            let begin = now
            let pause = Int64.random(in: 1...36_000, using: &random)
            turn(to: .unrecorded, at: begin)
            now += pause * Self.second
            if Bool.random(using: &random) { hasRoute.toggle() }
            try gap(.suspended(milliseconds: UInt64(pause) * 1_000))
        case .reboot:
            turn(to: .unrecorded, at: lastEntry)
            now += Int64.random(in: 20...4_000, using: &random) * Self.second
            (hostStart, boot) = (now - 9 * Self.second, boot + 1)
            try resume(isMeasured: false)
        }
        if entries > 12 { try rotate() }
    }

    /// Deletes the oldest files, so that some remain.
    func keepFiles(_ count: Int) {
        while files.count > count {
            unlink("\(path)/\(RecordingDirectory.name(files.lowerBound))")
            files = files.lowerBound + 1...files.upperBound
        }
    }

    /// Ends the recorder, and with it the last span.
    func end() throws {
        var bytes = stamp() + dump()
        bytes.append(.end)
        try write(bytes)
        turn(to: .unrecorded, at: now)
    }

    // MARK: What is so

    private var known: Span.State { hasRoute ? .reachable : .unreachable }

    private func turn(to state: Span.State, at time: Int64, isMeasured: Bool = true) {
        if time > since.time {
            spans.append(Span(state: since.state, microseconds: time - since.time, isMeasured: isMeasured))
        }
        since = (time, state)
    }

    // MARK: Files

    /// Begins a file after a time without a recorder.
    private func resume(isMeasured: Bool = true) throws {
        if isMeasured { now += Int64.random(in: 1...1_000, using: &random) * Self.second }
        if Bool.random(using: &random) { hasRoute.toggle() }
        try begin([])
        turn(to: known, at: now, isMeasured: isMeasured)
    }

    private func gap(_ mark: RecordingAnnotation) throws {
        var bytes = stamp()
        bytes.append(mark)
        try write(bytes + dump())
        turn(to: known, at: now)
    }

    private func rotate() throws {
        var continued: [UInt8] = []
        continued.append(.continued)
        try begin(continued)
    }

    private func begin(_ reason: [UInt8]) throws {
        let before = files.upperBound
        files = files.lowerBound...before + 1
        entries = 0
        try write(head(after: before) + reason + dump(), to: before + 1)
    }

    private func write(_ bytes: [UInt8], to number: UInt64? = nil) throws {
        let file = "\(path)/\(RecordingDirectory.name(number ?? files.upperBound))"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw NetflagsProcess.Failure.cannot("write \(file)", errno)
        }
        lastEntry = now
        entries += 1
    }

    // MARK: Bytes

    private var reading: ClockReading {
        ClockReading(boot: boot, sinceBoot: now - hostStart, sinceEpoch: offset + now)
    }

    private func stamp() -> [UInt8] { RouteRecording.stamp(reading) }

    private func head(after number: UInt64) -> [UInt8] {
        var bytes = RouteRecording.head(reading)
        bytes.append(.follows(number))
        return bytes
    }

    private func dump() -> [UInt8] { RouteRecording.dump(reading, hasRoute: hasRoute) }
}
