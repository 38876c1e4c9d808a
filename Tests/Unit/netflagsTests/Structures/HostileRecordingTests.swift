// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import TestSupport
import Testing

@testable import netflags

/// Recordings that lie in their structure, put through what each command does.
///
/// `make fuzz-structures` reads as many as `STRUCTURES` says, from the seed `STRUCTURES_SEED`. While one is read, its
/// seed is in the file that the run names first, so that it is known after a crash; a recording that takes longer than
/// ten minutes ends the process, which no recording does on a machine that is busy.
@Suite(.serialized) struct HostileRecordingTests {
    private static func environment(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    @Test func `a recording that lies in its structure ends in answers or errors`() throws {
        let count = Self.environment("STRUCTURES") ?? UInt64(Rounds.of(400))
        let start = Self.environment("STRUCTURES_SEED") ?? 1
        let scratch = try ScratchFile()
        print("the seed of the recording that is read: \(scratch.path).seed")
        var last = start
        var sizes = 0
        for seed in start..<(start + count) {
            try scratch.note(seed)
            sizes += try HostileRun(HostileRecording(seed: seed), scratch.path).run(seed)
            last = seed
        }
        #expect(last == start + count - 1)
        // Most recordings can be asked.
        #expect(sizes > Int(count))
    }

    /// With 8,000, what was known of interfaces was searched, and each nexthop was compared with all others: that took
    /// longer than a recording has.
    @Test(arguments: [60, 1_000, 8_000] as [UInt32])
    func `a route through many tunnels ends in an answer`(count: UInt32) throws {
        let scratch = try ScratchFile()
        let run = HostileRun(HostileRecording(tunnels: count), scratch.path)
        try scratch.note(0)
        try run.write()
        let routing = try Recording(path: scratch.path).routing(at: nil)
        let network = NetworkSource(routing: routing, resolver: SystemResolver.shared)
        let report = try NetworkReachability(target: .address(IPAddress(203, 0, 113, 1)), source: network)
            .blockingReport()
        // What lies deeper than is followed counts as carried; of what is followed, too many lie in each other.
        #expect(report.interface?.name == (count == 60 ? "g16" : "g2"))
        #expect(report.isReachable)
    }

    @Test func `the same seed makes the same recording`() {
        #expect(HostileRecording(seed: 9).bytes == HostileRecording(seed: 9).bytes)
        #expect(HostileRecording(seed: 9).bytes != HostileRecording(seed: 10).bytes)
    }
}

/// A file for a recording, and one beside it for the seed.
private final class ScratchFile {
    let path: String
    private let seed: Int32

    init() throws {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        path = "\(folder)/netflags-structures-\(getpid()).rtnl"
        seed = open(path + ".seed", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard seed >= 0 else { throw NetflagsProcess.Failure.cannot("open \(path).seed", errno) }
    }

    /// Writes the seed down, and has the process end when the next one does not come within ten minutes.
    func note(_ seed: UInt64) throws {
        let text = Array("\(seed)\n".utf8)
        guard pwrite(self.seed, text, text.count, 0) == text.count else {
            throw NetflagsProcess.Failure.cannot("write \(path).seed", errno)
        }
        alarm(600)
    }

    deinit {
        alarm(0)
        close(seed)
        unlink(path)
        unlink(path + ".seed")
    }
}

/// One recording, and the commands that read it.
private struct HostileRun {
    let recording: HostileRecording
    let path: String

    private static let changes = [
        "link set e2 down", "link set e2 up", "carrier e3 off", "carrier e3 on", "link del e4",
        "link set e3 nomaster", "link set e5 master e2", "addr add 10.0.9.1/24 dev e2",
        "addr del 10.0.0.1/24 dev e2",
        "addr flush dev e2", "addr replace 10.0.0.1/24 dev e3", "route add default via 10.0.0.3 dev e2",
        "route replace 198.51.100.0/24 via 10.0.0.2", "route del default", "route flush table main",
        "-6 route add 2001:db8:9::/48 via fe80::2 dev e2", "-6 route flush dev e3",
        "rule add pref 7 lookup 100",
        "rule add pref 8 goto 9", "rule flush", "-6 rule flush", "rule add lookup 0",
    ]

    init(_ recording: HostileRecording, _ path: String) {
        (self.recording, self.path) = (recording, path)
    }

    func write() throws {
        let bytes = recording.bytes
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw NetflagsProcess.Failure.cannot("write \(path)", errno)
        }
    }

    /// - Returns: How many answers there are.
    func run(_ seed: UInt64) throws -> Int {
        try write()
        let source = Recording(path: path)
        guard let routing = try? source.routing(at: nil) else { return 0 }
        var random = SeededGenerator(seed: seed)
        let state = NetworkState(routing)
        var buffer = ByteBuffer()
        let addresses = ["198.51.100.1", "10.0.0.3", "2001:db8::2", "224.0.0.1"].compactMap { IPAddress($0) }
        let targets: [ReachabilityTarget] = [.defaultPath] + addresses.map { .address($0) }
        var answers = state.answers(for: targets).count
        // path, order and assert
        let network = NetworkSource(routing: routing, resolver: SystemResolver.shared)
        PathFormat().write(
            Result { () throws(ReachabilityError) in
                try network.blockingValue(of: .path())
            },
            Result { () throws(ReachabilityError) in
                try network.blockingValue(of: .evidence())
            }, to: &buffer)
        let named = addresses.map { ReadTarget(text: "\($0)", target: .success(.address($0))) }
        OrderLine.writeText(
            OrderRun(options: ReachabilityOptions(), source: network, interleaved: false).lines(of: named),
            for: .standard, to: &buffer)
        answers += state.outcomes(of: [try .init("198.51.100.1 via 10.0.0.3"), try .init("default")]).count
        // timeline
        if let timeline = try? Timeline(
            of: source, [("default", .defaultPath), ("198.51.100.1", targets[1])], ReachabilityOptions(),
            onChangeOf: .flags), timeline.duration > .zero
        {
            let text = TimelineText(timeline: timeline, width: 80, isColoured: false)
            text.write(to: &buffer)
            text.writeLosses(to: &buffer)
        }
        // what-if --each
        answers += LossSearch(state).losses(of: .defaultPath, ReachabilityOptions()).losses.count
        // what-if and diff
        for _ in 0..<3 {
            let changes = try (0...1).map { _ in try NetworkState.Change(random.pick(Self.changes)) }
            guard let after = try? state.applying(changes) else { continue }
            compare(state, after, isPrediction: true, to: &buffer)
        }
        compare(NetworkState(RecordedRouting(HostState().routing)), state, isPrediction: false, to: &buffer)
        return answers
    }

    private func compare(
        _ old: NetworkState, _ new: NetworkState, isPrediction: Bool, to buffer: inout ByteBuffer
    ) {
        let comparison = RecordedComparison(old.routing, new.routing, isPrediction: isPrediction)
        comparison.writeEffects(to: &buffer)
        let format = DifferenceFormat(text: comparison.text, isJSON: false, isColoured: false)
        for query in comparison.queries(ReachabilityOptions()).queries.prefix(4) {
            format.write(comparison.compare(query), to: &buffer)
        }
    }
}
