// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import TestSupport
import Testing

@testable import netflags

struct InstantTests {
    @Test func `--at gives the answer that a timeline has for that time`() throws {
        let timeline = try Night.timeline()
        var seen: Set<String> = []
        for lane in timeline.lanes {
            for interval in lane.intervals {
                let half = (interval.end.microsecondsSince1970 - interval.start.microsecondsSince1970) / 2
                let middle = Recording.Time(
                    microsecondsSince1970: interval.start.microsecondsSince1970 + half)
                let source = try RecordedInstant(operand: Night.path, time: .instant(middle)).source()
                let target = try TargetQuery(targets: []).target(lane.target)
                let report = try NetworkReachability(target: target, source: source).blockingReport()
                #expect(report.flags == interval.report?.flags, "\(lane.target) at \(middle)")
                #expect(report.reason == interval.report?.reason, "\(lane.target) at \(middle)")
                seen.insert(report.flags.letters)
            }
        }
        #expect(seen.count > 1)
    }

    @Test func `check and path take a time, with a date or the first such time of day`() throws {
        for time in ["2026-11-20T02:10:00Z", "02:10", "2026-11-20 03:10:00+01:00"] {
            let check = try NetflagsProcess.run("--at", time, "--replay", Night.path, "default")
            #expect(check.status == 1, "\(time)")
            let path = try NetflagsProcess.run("path", "--replay", Night.path, "--at", time)
            #expect(path.status == 1, "\(time)")
        }
        #expect(try NetflagsProcess.run("--replay", Night.path, "default").status == 0)
        #expect(try NetflagsProcess.run("path", "--replay", Night.path).status == 0)
    }

    @Test func `a time before the recording is undecided, and one after it means its end`() throws {
        let before = try NetflagsProcess.run(
            "--at", "2020-01-01T00:00:00Z", "--replay", Night.path, "default")
        #expect(before.status == 2)
        #expect(before.errors.contains("this time is not recorded"), "\(before.errors)")
        #expect(
            before.errors.contains("begins at 2026-11-20T02:00:00.000Z, after 2020-01-01T00:00:00.000Z"))
        let after = try NetflagsProcess.run("--at", "2030-01-01T00:00:00Z", "--replay", Night.path, "default")
        #expect(after.status == 0)
        #expect(after.errors.contains(", before 2030-01-01T00:00:00.000Z: the answer is that of its end"))
    }

    @Test func `a time of day that the recording does not have is undecided`() throws {
        let result = try NetflagsProcess.run("--at", "01:10", "--replay", Night.path, "default")
        #expect(result.status == 2)
        #expect(
            result.errors.contains("begins at 2026-11-20T02:00:00.000Z, after 2026-11-20T01:10:00.000Z"),
            "\(result.errors)")
    }

    /// Events have microseconds, and the times in texts are cut to milliseconds.
    @Test func `a time without microseconds includes the events of its millisecond`() throws {
        let shown = try RecordedTime("2026-11-20T02:00:00.404Z").time(after: nil)
        let event = Recording.Time(microsecondsSince1970: shown.microsecondsSince1970 + 700)
        #expect(event.description == shown.description)
        #expect(shown < event && event <= shown.endOfMillisecond)
        #expect(event.endOfMillisecond == event)
    }

    @Test func `a time of day whose minute or second has the beginning is the beginning`() throws {
        let start = Recording.Time(microsecondsSince1970: 14 * 3_600_000_000 + 963_400_700)
        for text in ["14:16", "14:16:03", "14:16:03.4"] {
            #expect(try RecordedTime(text).time(after: start) == start, "\(text)")
        }
        #expect(try RecordedTime("14:16:02").time(after: start) > start)
        #expect(try RecordedTime("14:16:00").time(after: start) > start)
    }

    /// One after the end was that of the day before, and one before the beginning that of the day after.
    @Test(arguments: [
        ("14:16:02", -1), ("14:16:00", -3), ("14:16", 0), ("14:16:03", 0), ("14:17", 57), ("14:18", 117),
        ("14:15", -63),
    ])
    func `a time of day is on the day of a recording that does not reach it on the next`(
        text: String, seconds: Int64
    ) throws {
        let start = Recording.Time(microsecondsSince1970: (14 * 3_600 + 963) * 1_000_000)
        func time(_ seconds: Int64) -> Recording.Time {
            Recording.Time(microsecondsSince1970: start.microsecondsSince1970 + seconds * 1_000_000)
        }
        #expect(try RecordedTime(text).time(in: start...time(60)) == time(seconds))
    }

    @Test func `a time of day after the end of a recording over midnight is on its last day`() throws {
        let day: Int64 = 86_400_000_000
        let start = Recording.Time(microsecondsSince1970: day - 1_800_000_000)
        let end = Recording.Time(microsecondsSince1970: day + 1_440_000_000)
        let time = Recording.Time(microsecondsSince1970: day + 4_200_000_000)
        #expect(try RecordedTime("01:10").time(in: start...end) == time)
    }

    @Test func `a span of times of day that has the recording is that of its day`() throws {
        let whole = try NetflagsProcess.run("timeline", Night.path, "default")
        let span = try NetflagsProcess.run(
            "timeline", Night.path, "default", "--from", "01:10", "--to", "23:00")
        #expect(span.status == whole.status && span.output == whole.output, "\(span.errors)")
    }

    @Test func `a time that begins with a minus sign is a wrong value`() throws {
        let result = try NetflagsProcess.run("--at", "-1h", "--replay", Night.path, "default")
        #expect(result.status == 64)
        #expect(result.errors.contains("--at: \"-1h\" is not a time"), "\(result.errors)")
    }

    @Test func `a time without a recording, or a time of day of standard input, is wrong usage`() throws {
        let live = try NetflagsProcess.run("--at", "02:10", "default")
        #expect(live.status == 64)
        #expect(live.errors.contains("give one with --replay"))
        let piped = try NetflagsProcess.run("path", "--replay", "-", "--at", "02:10")
        #expect(piped.status == 64)
        #expect(piped.errors.contains("the date, too"))
        let dated = try NetflagsProcess.run(
            ["path", "--replay", "-", "--at", "2026-11-20T02:10:00Z"],
            input: try readRecordingFile(Night.path))
        #expect(dated.status == 1)
        let timeline = try NetflagsProcess.run("timeline", "--to", "02:10", "-", "default")
        #expect(timeline.status == 64)
        #expect(timeline.errors.contains("give --to the date, too"), "\(timeline.errors)")
        // A pipe with a name.
        let named = ShellCommand.run(
            "bash -c '\(NetflagsProcess.path) --replay <(cat \(Night.path)) --at 02:10 default'")
        #expect(named.status == 64 && named.output.contains("the date, too"), "\(named.output)")
        let before = try NetflagsProcess.run(
            ["path", "--replay", "-", "--at", "2020-01-01"], input: try readRecordingFile(Night.path))
        #expect(before.status == 2)
        #expect(before.errors.contains("stdin begins at 2026-11-20T02:00:00.000Z"), "\(before.errors)")
    }
}
