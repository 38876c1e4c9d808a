// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording
@testable import netflags

/// A recording of eth0 with a default route through 192.0.2.1, and what it says of answers there.
struct SilentRecording {
    private var clock = ClockReading(boot: 5, sinceBoot: 1_000_000, sinceEpoch: start)
    private(set) var bytes: [UInt8]

    static let start: Int64 = 1_800_000_000_000_000
    static let end = 100

    static func evidence(
        _ verdict: NetworkEvidence.Verdict, gateway: IPAddress = IPAddress(192, 0, 2, 1)
    ) -> NetworkEvidence {
        var evidence = NetworkEvidence()
        (evidence.verdict, evidence.interfaceIndex, evidence.gatewayAddress) = (verdict, 2, gateway)
        (evidence.age, evidence.lastAnswer) = (.milliseconds(4_100), .milliseconds(4_300))
        (evidence.connections, evidence.remotes, evidence.tries) = (12, 3, 9)
        return evidence
    }

    init(_ evidence: NetworkEvidence?) {
        bytes = RouteRecording.head(clock)
        dump(evidence)
    }

    private mutating func dump(_ evidence: NetworkEvidence?, hasRoute: Bool = true) {
        var dump = RouteRecording.dump(clock, hasRoute: hasRoute)
        var end: [UInt8] = []
        end.append(.dumpEnds)
        if let evidence {
            dump.removeLast(end.count)
            dump.append(.evidence(evidence))
            dump += end
        }
        bytes += dump
    }

    /// Moves the clock to a second of the recording.
    private mutating func move(to second: Int64) {
        let step = Self.start + second * 1_000_000 - clock.sinceEpoch
        clock.sinceBoot += step
        clock.sinceEpoch += step
    }

    mutating func state(_ evidence: NetworkEvidence?, at second: Int64) {
        move(to: second)
        bytes += RouteRecording.stamp(clock)
        bytes.append(.evidence(evidence))
    }

    mutating func change(hasRoute: Bool, at second: Int64) {
        move(to: second)
        bytes += RouteRecording.change(clock, hasRoute: hasRoute)
    }

    /// The gateway is replaced by 192.0.2.9, where something answers 5 s later, and nothing 10 s after that.
    mutating func failOver(at second: Int64) {
        move(to: second)
        bytes += RouteRecording.failover(clock)
        state(Self.evidence(.answered, gateway: IPAddress(192, 0, 2, 9)), at: second + 5)
        state(Self.evidence(.silent, gateway: IPAddress(192, 0, 2, 9)), at: second + 15)
    }

    /// A gap of the recorder that ends with a dump.
    mutating func stall(until second: Int64, for milliseconds: UInt64, then evidence: NetworkEvidence?) {
        move(to: second)
        bytes += RouteRecording.stamp(clock)
        bytes.append(.stalled(milliseconds: milliseconds))
        dump(evidence)
    }

    /// Another start of the host.
    mutating func boot(at second: Int64, then evidence: NetworkEvidence?) {
        move(to: second)
        (clock.boot, clock.sinceBoot) = (6, 1_000_000)
        bytes.append(.clock(clock))
        dump(evidence)
    }

    mutating func end(at second: Int64 = Int64(end)) {
        move(to: second)
        bytes += RouteRecording.stamp(clock)
        bytes.append(.end)
    }

    /// Answers, silence from 20 to 50 s, and answers.
    static func cut() -> SilentRecording {
        var recording = SilentRecording(evidence(.answered))
        recording.state(evidence(.silent), at: 20)
        recording.state(evidence(.answered), at: 50)
        recording.end()
        return recording
    }
}

/// Spans in which packets can leave and nothing answers.
struct SilentTimelineTests {
    private typealias Span = (kind: String, from: Int, to: Int)

    /// The rows of `timeline --json` as a word and two seconds each.
    private static func spans(
        _ recording: SilentRecording, _ arguments: String..., target: String = "default"
    ) throws -> [String] {
        try rows(recording, arguments + ["--json"], target).map { row in
            let begin = JSONValue.string("2027-01-15T08:00:00.000Z")
            let seconds = ["from", "to"].map { begin.seconds(to: row[$0] ?? .null) }
            return "\(row["kind"]?.string ?? "") \(Int(seconds[0]))-\(Int(seconds[1]))"
        }
    }

    private static func rows(
        _ recording: SilentRecording, _ arguments: [String], _ target: String = "default"
    ) throws -> [JSONValue] {
        let file = try Scratch(recording.bytes)
        return try NetflagsProcess.run(["timeline"] + arguments + [file.path, target]).lines
            .map { try #require(JSONValue($0)) }
    }

    @Test func `a recorded silence is a span of its own, and a loss of the ledger`() throws {
        let cut = SilentRecording.cut()
        #expect(try Self.spans(cut) == ["reachable 0-20", "silent 20-50", "reachable 50-100"])
        let rows = try Self.rows(cut, ["--json", "--losses"])
        #expect(rows.count == 1)
        let row = try #require(rows.first)
        #expect(row["reachable"] == .bool(true))
        #expect(row["interface"]?.string == "eth0" && row["gateway"]?.string == "192.0.2.1")
        #expect(row["reason"]?.string == "silent for 4.1 s: 9 tries to 3 remotes")
        #expect(row["evidence"]?["verdict"]?.string == "silent" && row["cause"] == .null)
    }

    @Test func `a silence counts for each target whose packets take that gateway, and for no other`() throws {
        let cut = SilentRecording.cut()
        let all = ["reachable 0-20", "silent 20-50", "reachable 50-100"]
        #expect(try Self.spans(cut, target: "198.51.100.7") == all)
        #expect(try Self.spans(cut, target: "192.0.2.9") == ["reachable 0-100"])
    }

    @Test func `a recording without evidence has no silence`() throws {
        var recording = SilentRecording(nil)
        recording.end()
        #expect(try Self.spans(recording) == ["reachable 0-100"])
    }

    @Test func `a silence that another kind follows is one loss with two spans`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.answered))
        recording.state(SilentRecording.evidence(.silent), at: 20)
        recording.state(SilentRecording.evidence(.gatewaySilent), at: 40)
        recording.state(SilentRecording.evidence(.none), at: 60)
        recording.end()
        #expect(
            try Self.spans(recording)
                == ["reachable 0-20", "silent 20-40", "silent 40-60", "reachable 60-100"])
        let timeline = try Self.timeline(recording)
        #expect(timeline.lanes[0].silences.map(\.duration) == [.seconds(40)])
        #expect(timeline.lanes[0].losses.isEmpty && timeline.lanes[0].reachableShare == 1)
    }

    @Test func `a silence without an end lasts to the end, and a cursor leaves it for later`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.answered))
        recording.state(SilentRecording.evidence(.silent), at: 20)
        recording.change(hasRoute: true, at: 60)
        #expect(try Self.spans(recording) == ["reachable 0-20", "silent 20-60"])
        let cursor = try Scratch()
        #expect(try Self.spans(recording, "--cursor-file", cursor.path) == ["reachable 0-20"])
        recording.state(SilentRecording.evidence(.answered), at: 70)
        recording.end()
        #expect(
            try Self.spans(recording, "--cursor-file", cursor.path) == ["silent 20-70", "reachable 70-100"])
    }

    @Test func `a gap ends a silence, and the dump after it says whether it goes on`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.stall(until: 50, for: 20_000, then: SilentRecording.evidence(.silent))
        recording.stall(until: 80, for: 10_000, then: nil)
        recording.end()
        #expect(
            try Self.spans(recording)
                == [
                    "silent 0-30", "unrecorded 30-50", "silent 50-70", "unrecorded 70-80", "reachable 80-100",
                ])
    }

    @Test func `a silence begins again in the rows of another start of the host`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.end(at: 30)
        recording.boot(at: 60, then: SilentRecording.evidence(.silent))
        recording.end()
        #expect(try Self.spans(recording) == ["silent 0-30", "unrecorded 30-60", "silent 60-100"])
        let starts = try Self.rows(recording, ["--json", "--losses"]).map { $0["bootID"] }
        #expect(Set(starts.compactMap { $0?.string }).count == 2)
    }

    @Test func `a path that is lost is no silence, and one that comes back is silent if that is stated`()
        throws
    {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.change(hasRoute: false, at: 20)
        recording.change(hasRoute: true, at: 40)
        recording.state(SilentRecording.evidence(.answered), at: 60)
        recording.end()
        #expect(
            try Self.spans(recording)
                == ["silent 0-20", "unreachable 20-40", "silent 40-60", "reachable 60-100"])
        // The second one is as old as the first, and older by 40 s.
        let ages = try Self.rows(recording, ["--json", "--losses"]).compactMap {
            $0["evidence"]?["seconds"]?.number
        }
        #expect(ages.count == 2 && abs(ages[1] - ages[0] - 40) < 2, "\(ages)")
    }

    /// The span went on with the first gateway.
    @Test func `a silence that goes on behind another gateway is none of the path that answers`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.state(SilentRecording.evidence(.silent, gateway: IPAddress(192, 0, 2, 9)), at: 40)
        recording.end()
        #expect(try Self.spans(recording) == ["silent 0-40", "reachable 40-100"])
    }

    /// The change of the route is evaluated a moment later.
    @Test func `evidence right after a change of the network overlaps no span`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.change(hasRoute: false, at: 20)
        recording.change(hasRoute: true, at: 21)
        recording.change(hasRoute: false, at: 22)
        recording.state(SilentRecording.evidence(.none), at: 22)
        recording.end()
        let timeline = try Self.timeline(recording)
        let intervals = timeline.lanes[0].intervals
        #expect(zip(intervals, intervals.dropFirst()).allSatisfy { $0.end == $1.start })
    }

    @Test func `evidence that is left out is not silence`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.state(nil, at: 40)
        recording.end()
        #expect(try Self.spans(recording) == ["silent 0-40", "reachable 40-100"])
    }

    // MARK: Formats

    private static func timeline(_ recording: SilentRecording) throws -> Timeline {
        let file = try Scratch(recording.bytes)
        return try Timeline(
            of: Recording(path: file.path), [("default", .defaultPath)], ReachabilityOptions(),
            onChangeOf: .flags)
    }

    @Test func `the bar, its legend and --explain show a silence`() throws {
        let file = try Scratch(SilentRecording.cut().bytes)
        let result = try NetflagsProcess.run("timeline", "--explain", file.path, "default")
        #expect(result.output.contains("█░") && result.output.contains("░ routed and silent"))
        #expect(
            result.output.contains("08:00:20 default: silent for 4.1 s: 9 tries to 3 remotes; 30 s"),
            "\(result.output)")
        #expect(result.status == 0)
    }

    @Test func `the picture shows a silence`() throws {
        let file = try Scratch(SilentRecording.cut().bytes)
        let picture = try NetflagsProcess.run("timeline", "--svg", "-", file.path, "default").output
        #expect(picture.contains("<rect class=\"silent\"") && picture.contains("routed and silent"))
        #expect(picture.contains("default: reachable all the time; 30 s routed and silent."))
    }

    @Test func `counters and the history have the silent time, where the recording has evidence`() throws {
        let file = try Scratch(SilentRecording.cut().bytes)
        let counters = try NetflagsProcess.run("timeline", "--format", "prometheus", file.path, "default")
            .output
        #expect(counters.contains("\nnetflags_silent_seconds_total{target=\"default\"} 30\n"))
        #expect(MetricsRules.violations(counters) == [])
        let history = try NetflagsProcess.run("timeline", "--format", "openmetrics", file.path, "default")
            .output
        let samples = MetricsRules.samples(history).filter { $0.name == "netflags_silent" }
        #expect(samples.map(\.value) == [0, 1, 0, 0, 0])
        let none = try NetflagsProcess.run("timeline", "--format", "prometheus", Night.path, "default").output
        #expect(!none.contains("silent"))
    }

    /// It was 0 for a target on the link, of whose path nothing is recorded.
    @Test func `metrics have no sample of a silence that is not known`() throws {
        func silent(_ recording: SilentRecording, _ target: String) throws -> [Double] {
            let file = try Scratch(recording.bytes)
            func output(_ format: String) throws -> String {
                try NetflagsProcess.run("timeline", "--format", format, file.path, target).output
            }
            let samples = MetricsRules.samples(try output("openmetrics"))
                .filter { $0.name == "netflags_silent" }
            let hasTotal = try output("prometheus").contains("netflags_silent_seconds_total")
            #expect(samples.isEmpty != hasTotal)
            return samples.map(\.value)
        }
        #expect(try silent(.cut(), "192.0.2.9") == [])
        #expect(try silent(.cut(), "198.51.100.7") == [0, 1, 0, 0, 0])
        // It is left out from 40 s on.
        var recording = SilentRecording(SilentRecording.evidence(.answered))
        recording.state(nil, at: 40)
        recording.end()
        #expect(try silent(recording, "default") == [0])
        // The path cannot be used until 50 s, which is no silence.
        recording = SilentRecording(SilentRecording.evidence(.silent))
        recording.change(hasRoute: false, at: 20)
        recording.change(hasRoute: true, at: 50)
        recording.end()
        #expect(try silent(recording, "default") == [1, 0, 1, 1, 1])
    }

    // MARK: Replays

    private static func evidence(
        at second: Int64, of target: ReachabilityTarget = .defaultPath, in recording: SilentRecording
    ) throws -> NetworkEvidence {
        let file = try Scratch(recording.bytes)
        let time = Recording.Time(microsecondsSince1970: SilentRecording.start + second * 1_000_000)
        return try Recording(path: file.path).source(at: time).blockingValue(of: .evidence(of: target))
    }

    @Test func `a replay says what was recorded, with the age that it has by then`() throws {
        let cut = SilentRecording.cut()
        let silent = try Self.evidence(at: 40, in: cut)
        #expect(silent.verdict == .silent && silent.tries == 9)
        #expect(silent.age == .milliseconds(24_100) && silent.lastAnswer == .milliseconds(24_300))
        let answered = try Self.evidence(at: 60, in: cut)
        #expect("\(answered)" == "answered within 60 s (12 of 12 connections)")
        #expect(answered.age == nil && answered.lastAnswer == nil)
    }

    @Test func `watch has a line at each change of the recorded evidence on the path of a target`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.answered))
        recording.state(SilentRecording.evidence(.silent), at: 20)
        recording.stall(until: 40, for: 5_000, then: SilentRecording.evidence(.silent))
        recording.change(hasRoute: false, at: 50)
        recording.change(hasRoute: true, at: 60)
        recording.state(SilentRecording.evidence(.answered), at: 70)
        recording.end()
        let file = try Scratch(recording.bytes)
        func lines(_ arguments: String...) throws -> [String] {
            try NetflagsProcess.run(["watch", "--replay", file.path] + arguments).lines.map(String.init)
        }
        func rows(_ target: String) throws -> [String] {
            try lines("--evidence", "--json", target).compactMap { line in
                let row = try #require(JSONValue(line))
                let begin = JSONValue.string("2027-01-15T08:00:00.000Z")
                let second = begin.seconds(to: row["time"] ?? .null).rounded()
                return "\(Int(second)) \(row["evidence"]?["verdict"]?.string ?? "-")"
            }
        }
        #expect(try rows("default") == ["0 answered", "20 silent", "50 -", "60 silent", "70 answered"])
        #expect(try rows("192.0.2.9") == ["0 -"])
        #expect(try lines("default").count == 3)
        let text = try lines("--evidence", "default")
        #expect(text.count == 5 && text[1].contains("; silent for 4.1 s: 9 tries to 3 remotes"))
        // 4.1 s at 20 s, and stated anew at 40 s.
        #expect(text[3].contains("; silent for 24 s"))
        let ran = try lines("--evidence", "--exec", "echo ran $NETFLAGS_EVIDENCE", "default")
        #expect(ran.filter { $0.hasPrefix("ran") } == ["ran silent", "ran", "ran silent", "ran answered"])
    }

    @Test func `after a failover, a replay has the evidence of the other path`() throws {
        var recording = SilentRecording(SilentRecording.evidence(.answered))
        recording.failOver(at: 20)
        recording.end()
        let found = try Self.evidence(at: 30, in: recording)
        #expect(found.verdict == .answered && found.gatewayAddress == IPAddress(192, 0, 2, 9))
        let file = try Scratch(recording.bytes)
        let lines = try NetflagsProcess.run("watch", "--replay", file.path, "--evidence", "default").lines
        #expect(lines.count == 2 && lines[0].contains("; answered"))
        #expect(lines[1].hasPrefix("2027-01-15T08:00:35.000Z") && lines[1].contains("; silent for 4.1 s"))
    }

    @Test func `what a recording lacks is undecided, and named`() throws {
        func error(_ body: @autoclosure () throws -> NetworkEvidence) -> ReachabilityError? {
            #expect(throws: ReachabilityError.self) { try body() }
        }
        let none = error(try Self.evidence(at: 50, in: SilentRecording(nil)))
        #expect(none?.code == .undecided && none?.description.contains("record --evidence") == true)
        let link = ReachabilityTarget.address(IPAddress(192, 0, 2, 9))
        let other = error(try Self.evidence(at: 30, of: link, in: .cut()))
        #expect(other?.code == .undecided && other?.description.contains("another path") == true)
    }

    @Test func `path and --explain of an instant have the recorded evidence`() throws {
        let file = try Scratch(SilentRecording.cut().bytes)
        for command in [["path"], ["check", "--explain", "default"]] {
            let output = try NetflagsProcess.run(command + ["--replay", file.path, "--at", "08:00:40"]).output
            #expect(output.contains("evidence"), "\(output)")
            #expect(output.contains("silent for 24 s: 9 tries to 3 remotes"), "\(output)")
        }
        let old = try NetflagsProcess.run("path", "--replay", Night.path).output
        #expect(old.contains("\nevidence     unknown: the recording has none; "), "\(old)")
        let explained = try NetflagsProcess.run("--explain", "--replay", Night.path, "default").output
        #expect(explained.contains("\n    evidence  unknown: the recording has none; "), "\(explained)")
        let watched = try NetflagsProcess.run("watch", "--replay", Night.path, "--evidence", "default")
        #expect(watched.errors.contains("the recording has no evidence; netflags record --evidence adds it"))
        #expect(try NetflagsProcess.run("watch", "--replay", Night.path, "default").errors.isEmpty)
    }

    @Test func `a sequence of the evidence has each recorded verdict`() async throws {
        let file = try Scratch(SilentRecording.cut().bytes)
        var found: [NetworkEvidence.Verdict] = []
        for try await evidence in Recording(path: file.path).updates(of: .evidence()) {
            found.append(evidence.verdict)
        }
        #expect(found == [.answered, .silent, .answered])
    }
}
