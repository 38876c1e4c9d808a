// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import TestSupport
import Testing

@testable import netflags

/// The metrics of a recording: counters up to now, and its history.
struct TimelineMetricsTests {
    private static let target = Night.targets[1]

    private static func metrics(_ format: String, _ more: [String] = []) throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(["timeline", "--format", format] + more + [Night.path] + Night.targets)
    }

    private static func value(_ name: String, _ text: String) -> Double? {
        MetricsRules.samples(text).first {
            $0.name == name && ["", "{target=\"\(target)\"}"].contains($0.labels)
        }?
        .value
    }

    @Test func `both formats keep their rules`() throws {
        let counters = try Self.metrics("prometheus")
        #expect(MetricsRules.violations(counters.output) == [] && counters.status == 1)
        let history = try Self.metrics("openmetrics", ["--host", "a\"b"])
        #expect(MetricsRules.violations(history.output, isOpenMetrics: true) == [] && history.status == 1)
        #expect(history.output.contains("host=\"a\\\"b\""))
    }

    @Test func `the rules find what is wrong`() {
        let head = "# HELP a_total x\n# TYPE a_total counter\n"
        for text in [
            "a_total 1\n", head + "b_total 1\n", head + "a_total 1\na_total 1\n", head + "a_total x\n",
            head + "a_total 1",
            head + "a_total 1\n" + head, head + "a_total -1\n", head + "a_total 1 5\n",
            "# HELP a\n# TYPE a gauge\na 1\n",
        ] {
            #expect(MetricsRules.violations(text) != [], "\(text)")
        }
    }

    @Test func `the counters are the sums of the ledger's rows`() throws {
        let text = try Self.metrics("prometheus").output
        let result = try NetflagsProcess.run("timeline", "--json", "--losses", Night.path, Self.target)
        let rows = result.lines.compactMap { JSONValue($0) }
        let seconds = rows.compactMap { $0["durationSeconds"]?.number }.reduce(0, +)
        #expect(rows.count == 3)
        #expect(Self.value("netflags_losses_total", text) == 3)
        #expect(abs((Self.value("netflags_unreachable_seconds_total", text) ?? 0) - seconds) < 0.000_01)
        let timeline = try Night.timeline()
        let whole = timeline.lanes[1].intervals.map {
            $0.end.microsecondsSince1970 - $0.start.microsecondsSince1970
        }
        let recorded = try #require(Self.value("netflags_recorded_seconds_total", text))
        #expect(abs(recorded - Double(whole.reduce(0, +)) / 1_000_000) < 0.000_01)
        #expect(Self.value("netflags_recording_gap_seconds_total", text) == 0)
        #expect(Self.value("netflags_recording_active", text) == 0)
        let start = try #require(Self.value("netflags_last_loss_start_timestamp_seconds", text))
        let end = try #require(Self.value("netflags_last_loss_end_timestamp_seconds", text))
        #expect(abs(end - start - (rows.last?["durationSeconds"]?.number ?? 0)) < 0.000_01)
        #expect(Self.value("netflags_recording_last_entry_timestamp_seconds", text) ?? 0 > end)
    }

    @Test
    func `counters with a cursor do not go back when the recording is shorter, and count nothing twice`()
        throws
    {
        let cursor = try Scratch()
        func counters(_ path: String) throws -> [MetricsRules.Sample] {
            let result = try NetflagsProcess.run(
                "timeline", "--format", "prometheus", "--cursor-file", cursor.path, path, Self.target)
            return MetricsRules.samples(result.output).filter { $0.name.hasSuffix("_total") }
        }
        let first = try counters(Night.path)
        #expect(first.first { $0.name == "netflags_losses_total" }?.value == 3)
        #expect(try counters(Night.path) == first)
        let part = try Scratch(Array(try readRecordingFile(Night.path).prefix(12_000)))
        #expect(try counters(part.path) == first)
        let ledger = try NetflagsProcess.run(
            "timeline", "--json", "--cursor-file", cursor.path, Night.path, Self.target)
        #expect(ledger.status == 2 && ledger.errors.contains("with this format"), "\(ledger.errors)")
    }

    @Test func `the history has a sample at each change and each minute of the recorded time`() throws {
        let samples = MetricsRules.samples(try Self.metrics("openmetrics").output)
            .filter { $0.labels == "{target=\"\(Self.target)\"}" }
        let lane = try Night.timeline().lanes[1]
        let gauge = samples.filter { $0.name == "netflags_reachable" }
        for (one, next) in zip(gauge, gauge.dropFirst()) { #expect((next.time ?? 0) - (one.time ?? 0) <= 60) }
        for interval in lane.intervals {
            let time = Double(interval.start.microsecondsSince1970 / 1_000) / 1_000
            let found = gauge.first { $0.time == time }
            #expect(found?.value == (interval.isReachable == true ? 1 : 0))
        }
        let counters = try Self.metrics("prometheus").output
        for name in ["netflags_unreachable_seconds_total", "netflags_losses_total"] {
            let last = try #require(samples.last { $0.name == name })
            #expect(abs(last.value - (Self.value(name, counters) ?? -1)) < 0.002, "\(name)")
            #expect(samples.first { $0.name == name }?.value == 0)
        }
    }

    @Test func `what is not recorded has no sample, and its begin has one`() throws {
        let gap = Sample.timeline(
            [Sample.lane("a", [(0, .reachable), (150, .unrecorded), (600, .reachable)], until: 700)],
            until: 700)
        var text = ByteBuffer()
        try TimelineHistory(gap, host: nil).write {
            text.append(bytes: $0.bytes)
            $0.removeAll()
        }
        let times = MetricsRules.samples(String(decoding: text.bytes, as: UTF8.self))
            .filter { $0.name == "netflags_losses_total" }.map { Int64($0.time ?? 0) - Sample.start }
        #expect(times == [0, 60, 120, 150, 600, 660, 700])
    }

    // MARK: The tools

    @Test(.enabled(if: ShellCommand.has("promtool"), "promtool is not installed"))
    func `promtool finds nothing to complain about, and makes blocks of the history`() throws {
        for text in [
            try Self.metrics("prometheus").output,
            try NetflagsProcess.run("--format", "prometheus", "127.0.0.1", "fe80::1").output,
        ] {
            let file = try Scratch(Array(text.utf8))
            let (status, output) = ShellCommand.run("promtool check metrics <\(file.path)")
            #expect(status == 0 && output.isEmpty, "\(output)")
        }
        let history = try Scratch(Array(try Self.metrics("openmetrics").output.utf8))
        let folder = history.path + ".tsdb"
        defer { _ = ShellCommand.run("rm -r \(folder)") }
        let (status, output) = ShellCommand.run(
            "promtool tsdb create-blocks-from openmetrics \(history.path) \(folder) && ls \(folder)/*/meta.json"
        )
        #expect(status == 0 && output.contains("meta.json"), "\(output)")
    }

    @Test(
        .enabled(
            if: ShellCommand.run("python3 -c 'import prometheus_client.openmetrics.parser'").status == 0,
            "prometheus_client is not installed for python3"))
    func `the strict parser of prometheus_client takes both formats`() throws {
        for (format, module) in [("openmetrics", "openmetrics."), ("prometheus", "")] {
            let file = try Scratch(Array(try Self.metrics(format).output.utf8))
            let (status, output) = ShellCommand.run(
                """
                python3 -c 'import sys
                from prometheus_client.\(module)parser import text_string_to_metric_families as families
                print(sum(len(family.samples) for family in families(open(sys.argv[1]).read())))' \(file.path)
                """)
            let count = MetricsRules.samples(try Self.metrics(format).output).count
            #expect(status == 0 && output == "\(count)\n", "\(output)")
        }
    }

    /// A clock that was not set made a sample for each minute of decades.
    @Test func `a span of more than a year has no sample within it`() throws {
        var output = ByteBuffer()
        let timeline = Sample.timeline(
            [Sample.lane("a", [(0, .reachable)], until: 40_000_000)], until: 40_000_000)
        try TimelineHistory(timeline, host: nil).write { buffer in
            output.append(bytes: buffer.bytes)
            buffer.removeAll()
        }
        let samples = MetricsRules.samples(String(decoding: output.bytes, as: UTF8.self))
        #expect(samples.filter { $0.name == "netflags_losses_total" }.count == 2)
    }
}
