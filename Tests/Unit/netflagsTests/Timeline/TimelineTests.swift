// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording
@testable import netflags

/// Timelines made of values.
enum Sample {
    static let start: Int64 = 1_800_000_000

    static func time(_ seconds: Int64) -> Recording.Time {
        Recording.Time(microsecondsSince1970: (start + seconds) * 1_000_000)
    }

    /// A lane whose states begin at these seconds.
    static func lane(_ target: String, _ states: [(Int64, Timeline.State)], until end: Int64) -> Timeline.Lane
    {
        var lane = Timeline.Lane(target: target)
        for (place, (second, state)) in states.enumerated() {
            let next = place + 1 < states.count ? states[place + 1].0 : end
            let cause = ChangeCause(time: time(second), text: "event \(second)", symbol: .link)
            lane.intervals.append(
                Timeline.Interval(
                    start: time(second), end: time(next), state: state, reason: "reason \(second)",
                    cause: place == 0 ? nil : cause))
        }
        lane.newest = lane.intervals.last
        return lane
    }

    static func timeline(_ lanes: [Timeline.Lane], until end: Int64) -> Timeline {
        var timeline = Timeline(targets: [])
        timeline.lanes = lanes
        timeline.finish(start: time(0), end: time(end))
        return timeline
    }
}

struct TimelineTests {
    @Test func `after a gap the answer from before it holds, unless a change follows`() {
        var timeline = Sample.timeline(
            [
                Sample.lane("a", [(0, .reachable)], until: 10),
                Sample.lane("b", [(0, .unreachable)], until: 10),
            ],
            until: 10)
        timeline.apply(.mark(Recording.Mark(time: Sample.time(20), kind: .overrun)))
        timeline.apply(.mark(Recording.Mark(time: Sample.time(25), kind: .suspended(.seconds(5)))))
        timeline.apply(.resumed(Sample.time(30)))
        let failure = ReachabilityError(.undecided, operation: "ask", message: "unknown")
        timeline.apply(
            .change(
                Recording.Change(
                    time: Sample.time(30), index: 1, result: .failure(failure), isFirst: false, cause: nil,
                    before: nil)))
        timeline.finish(start: Sample.time(0), end: Sample.time(40))
        #expect(timeline.lanes[0].intervals.map(\.state) == [.reachable, .unrecorded, .reachable])
        #expect(timeline.lanes[0].intervals.map(\.end) == [20, 30, 40].map(Sample.time))
        #expect(timeline.lanes[1].intervals.map(\.state) == [.unreachable, .unrecorded, .undetermined])
        #expect(timeline.lanes[0].reachableShare == 1)
        #expect(timeline.lanes[1].reachableShare == 0)
        #expect(timeline.marks.map(\.text) == ["notifications were lost", "the machine slept for 5 s"])
    }

    @Test func `a change at the moment of a gap holds after it`() {
        var timeline = Sample.timeline([Sample.lane("a", [(0, .reachable)], until: 10)], until: 10)
        let failure = ReachabilityError(.undecided, operation: "ask", message: "unknown")
        timeline.apply(
            .change(
                Recording.Change(
                    time: Sample.time(20), index: 0, result: .failure(failure), isFirst: false, cause: nil,
                    before: nil)))
        timeline.apply(.mark(Recording.Mark(time: Sample.time(20), kind: .interrupted)))
        timeline.apply(.resumed(Sample.time(30)))
        timeline.finish(start: Sample.time(0), end: Sample.time(40))
        #expect(timeline.lanes[0].intervals.map(\.state) == [.reachable, .unrecorded, .undetermined])
        #expect(timeline.lanes[0].intervals.map(\.end) == [20, 30, 40].map(Sample.time))
    }

    @Test(arguments: [Recording.Mark.Kind.clockSet(.seconds(-7)), .clockBehind(.seconds(7))])
    func `a clock that was set is an event and no gap`(kind: Recording.Mark.Kind) {
        var timeline = Sample.timeline([Sample.lane("a", [(0, .reachable)], until: 10)], until: 10)
        timeline.apply(.mark(Recording.Mark(time: Sample.time(5), kind: kind)))
        timeline.finish(start: Sample.time(0), end: Sample.time(10))
        #expect(timeline.lanes[0].intervals.map(\.state) == [.reachable])
        #expect(timeline.events.count == 1 && timeline.events[0].text.contains("7.000 s"))
    }

    @Test func `a recorder that ends normally adds no event`() {
        var timeline = Sample.timeline([Sample.lane("a", [(0, .reachable)], until: 10)], until: 10)
        timeline.apply(.mark(Recording.Mark(time: Sample.time(10), kind: .ended)))
        timeline.finish(start: Sample.time(0), end: Sample.time(10))
        #expect(timeline.events.isEmpty)
        #expect(timeline.lanes[0].intervals.map(\.state) == [.reachable])
    }

    @Test func `a loss that continues for another reason is one loss`() {
        let lane = Sample.lane(
            "a",
            [(0, .unreachable), (5, .reachable), (7, .unreachable), (8, .unreachable), (20, .reachable)],
            until: 30)
        #expect(lane.losses.map(\.duration) == [.seconds(5), .seconds(13)])
        #expect(lane.losses.map(\.reason) == ["reason 0", "reason 7"])
    }

    // MARK: Text

    @Test(arguments: [40, 80, 81, 200]) func `rows fit the width, whatever it is`(width: Int) {
        let lanes = ["a", "2001:db8:1234:5678:9abc:def0:1234:5678"].map {
            Sample.lane($0, [(0, .reachable), (50, .unreachable), (60, .reachable)], until: 100)
        }
        // The narrowest bar and the longest address need 62 columns.
        let limit = max(width, 62)
        for line in Self.lines(Sample.timeline(lanes, until: 100), width: width).dropLast() {
            #expect(line.unicodeScalars.count <= limit, "\(line)")
        }
    }

    @Test func `a loss of a second is visible in a day`() {
        let lane = Sample.lane(
            "a", [(0, .reachable), (40_000, .unreachable), (40_001, .reachable)], until: 86_400)
        let row = Self.lines(Sample.timeline([lane], until: 86_400), width: 80)[1]
        #expect(row.contains("█·█"))
        #expect(row.hasSuffix(" 99.9%"))
    }

    @Test func `columns show the state of their time`() {
        let lane = Sample.lane(
            "a", [(0, .unreachable), (25, .reachable), (50, .needsConnection)], until: 100)
        let row = Self.lines(Sample.timeline([lane], until: 100), width: 40 + 1 + 4 + 5)[1]
        let bar = String(repeating: "·", count: 10) + String(repeating: "█", count: 10)
        #expect(row == "a  \(bar)\(String(repeating: "▒", count: 20))  25.0%")
    }

    private static func lines(_ timeline: Timeline, width: Int) -> [Substring] {
        var buffer = ByteBuffer()
        TimelineText(timeline: timeline, width: width, isColoured: false).write(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n")
    }

    // MARK: Times

    @Test(arguments: [
        (Duration.milliseconds(4), "4 ms"), (.milliseconds(400), "0.4 s"), (.seconds(41), "41 s"),
        (.milliseconds(9_990), "10 s"), (.seconds(200), "3 min 20 s"), (.seconds(7_500), "2 h 5 min"),
        (.seconds(97_200), "1 d 3 h"), (.seconds(120), "2 min"),
    ])
    func `durations are written in two units at most`(duration: Duration, text: String) {
        #expect(duration.words == text)
    }

    @Test(arguments: [(1, 5), (90, 6), (3_600, 8), (86_400, 4), (40_000_000, 10)])
    func `ticks are round, inside the span, and no more than there is room for`(seconds: Int64, limit: Int) {
        let axis = TimeAxis(from: Sample.time(13), to: Sample.time(13 + seconds), atMost: limit)
        #expect(!axis.ticks.isEmpty)
        #expect(axis.ticks.count <= limit)
        let times = axis.ticks.map(\.time)
        #expect(times.allSatisfy { (Sample.time(13)...Sample.time(13 + seconds)).contains($0) })
        #expect(Set(zip(times, times.dropFirst()).map { $0.duration(to: $1) }).count <= 1)
        #expect(Set(axis.ticks.map(\.label)).count == axis.ticks.count)
    }

    @Test(
        arguments: [
            ("2031-05-04T03:02:01Z", 1_935_630_121_000_000),
            ("2031-05-04T03:02:01.25Z", 1_935_630_121_250_000),
            ("2031-05-04T05:02:01+02:00", 1_935_630_121_000_000),
            ("2031-05-04 03:02:01z", 1_935_630_121_000_000),
            ("2031-05-04T05:02:01+0200", 1_935_630_121_000_000),
            ("2031-05-04T03:02:01", 1_935_630_121_000_000), ("2031-05-04 03:02", 1_935_630_120_000_000),
            ("2031-05-04", 1_935_619_200_000_000), ("2031-05-03T23:30:00-05:00", 1_935_635_400_000_000),
            ("1970-01-01T00:00:00Z", 0), ("2028-02-29T00:00Z", 1_835_395_200_000_000),
        ] as [(String, Int64)])
    func `times of RFC 3339 are read, and dates alone; without a zone they are in UTC`(
        text: String, microseconds: Int64
    ) throws {
        #expect(try RecordedTime(text) == .instant(Recording.Time(microsecondsSince1970: microseconds)))
    }

    @Test(arguments: [
        "", "now", "-1h", "1h", "2031-13-01", "2031-02-30T00:00:00Z", "2031-05-04T", "24:00", "25:00", "3:02",
        "03:02:61", "03:02.5", "03:02:01.", "2031-05-04T03:02:01+2", "2031-05-04T03:02:01+25:00",
        "2031-05-04T24:00:00Z", "2031-05-04T03:02:01.1x1Z", "03:60", "03:02+", "T03:02", "@1764262800",
        "2031-05-0403:02",
    ])
    func `other texts are not times`(text: String) {
        #expect(throws: (any Error).self) { try RecordedTime(text) }
    }

    @Test func `a time of day is the first one after the start`() throws {
        // 2027-01-15T08:00:00Z.
        let start = Sample.time(0)
        #expect(try RecordedTime("08:00").time(after: start) == start)
        #expect(try RecordedTime("09:30:05").time(after: start) == Sample.time(5_405))
        #expect(try RecordedTime("07:00").time(after: start) == Sample.time(23 * 3_600))
    }

    @Test(arguments: ["08:30Z", "09:30+01:00", "03:30-0500", "00:30+16:00", "16:30:00.0+08:00"])
    func `a time of day can have a zone`(text: String) throws {
        #expect(try RecordedTime(text).time(after: nil) == RecordedTime("08:30").time(after: nil))
    }

    @Test(arguments: [("2031-13-01", "there is no day 2031-13-01"), ("24:00", "a time of day such as 03:02")])
    func `the message says which day does not exist, or which forms there are`(text: String, part: String) {
        let error = #expect(throws: UsageError.self) { try RecordedTime(text) }
        #expect(error?.description.contains(part) == true)
    }
}
