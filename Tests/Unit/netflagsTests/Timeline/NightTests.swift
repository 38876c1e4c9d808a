// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

/// A recorded night with a lost carrier, a withdrawn route, a rule that drops packets and an address that expires.
enum Night {
    static let targets = ["default", "198.51.100.20", "10.8.3.4", "2001:db8:5::1"]

    static let path = file("night.rtnl")

    static func file(_ name: String) -> String {
        let own = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return own.joined(separator: "/") + "/Fixtures/\(name)"
    }

    /// A page or picture of the documentation.
    static func document(_ name: String) throws -> String {
        let own = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(5)
        return String(
            decoding: try readRecordingFile(own.joined(separator: "/") + "/docs/\(name)"), as: UTF8.self)
    }

    static func timeline(from: Recording.Time? = nil, to: Recording.Time? = nil) throws -> Timeline {
        let query = TargetQuery(targets: targets)
        var replay = try Recording(path: path).replay(
            of: try query.recordedTargets().map { .report(of: $0.target, .full) }, from: from, to: to)
        var timeline = Timeline(targets: targets)
        while let step = try replay.next() { timeline.apply(step) }
        let (start, end) = (replay.start, replay.end)
        timeline.finish(start: try #require(start), end: try #require(end))
        return timeline
    }
}

struct NightTests {
    @Test func `the intervals of each target have the flags that watch printed live, in the same order`()
        throws
    {
        let printed = String(decoding: try readRecordingFile(Night.file("night.watch")), as: UTF8.self)
            .split(separator: "\n").map { $0.split(separator: "\t") }
        let timeline = try Night.timeline()
        for lane in timeline.lanes {
            let expected = printed.filter { $0[0] == lane.target }
            #expect(expected.count > 2, "\(lane.target)")
            let letters = lane.intervals.map(\.report?.flags.letters)
            #expect(letters == expected.map { String($0[1]) }, "\(lane.target)")
            #expect(lane.intervals.map(\.reason) == expected.map { String($0[2]) }, "\(lane.target)")
        }
    }

    @Test func `watch --replay prints the lines that watch printed live, target by target`() throws {
        let printed = String(decoding: try readRecordingFile(Night.file("night.watch")), as: UTF8.self)
            .split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
        let result = try NetflagsProcess.run(["watch", "--json", "--replay", Night.path] + Night.targets)
        let replayed = result.lines.compactMap { JSONValue($0) }
            .map { line in ["target", "letters", "reason"].compactMap { line[$0]?.string } }
        for target in Night.targets {
            #expect(replayed.filter { $0.first == target } == printed.filter { $0.first == target })
        }
        #expect(replayed.count == printed.count)
    }

    @Test func `the intervals of a target follow each other from the start to the end`() throws {
        let timeline = try Night.timeline()
        for lane in timeline.lanes {
            #expect(lane.intervals.first?.start == timeline.start)
            #expect(lane.intervals.last?.end == timeline.end)
            for (one, next) in zip(lane.intervals, lane.intervals.dropFirst()) {
                #expect(one.end == next.start)
                #expect(one.duration > .zero)
                #expect(next.cause != nil)
            }
        }
    }

    @Test func `each change has its event, and each loss what the event did`() throws {
        let timeline = try Night.timeline()
        #expect(
            timeline.events.map(\.text) == [
                "eth0 lost its carrier", "eth0 has a carrier",
                "the default route via 192.0.2.1 on eth0 was removed on request (port 1262)",
                "the default route via 192.0.2.1 on eth0 was added on request (port 1426)",
                "the rule 100 (from all to 198.51.100.0/24 blackhole) was added on request (port 1429)",
                "the rule 100 (from all to 198.51.100.0/24 blackhole) was removed on request (port 1431)",
                "the address 203.0.113.7/24 of eth1 was removed as its lifetime ended",
                "the route to 10.8.0.0/16 via 192.0.2.1 on eth0 was added on request (port 2285)",
            ])
        #expect(
            timeline.lanes.map { $0.losses.map(\.effect) } == [
                ["the default route via 192.0.2.1 could not be used"],
                [
                    "the default route via 192.0.2.1 could not be used", "no route",
                    "the rule 100 (to 198.51.100.0/24) drops it (blackhole)",
                ],
                ["the route to 10.8.0.0/16 via 203.0.113.1 could not be used"],
                ["the default route via 2001:db8::1 could not be used"],
            ])
    }

    @Test func `between two times, only what is between them is shown`() throws {
        let whole = try Night.timeline()
        let loss = try #require(whole.lanes[1].losses.last)
        let start = loss.start.advanced(by: .seconds(-60))
        let end = loss.end.advanced(by: .seconds(30))
        let part = try Night.timeline(from: start, to: end)
        #expect(part.start == start)
        #expect(part.end == end)
        #expect(part.lanes[1].intervals.map(\.state) == [.reachable, .unreachable, .reachable])
        #expect(part.lanes[1].losses.map(\.duration) == [loss.duration])
        #expect(part.lanes[3].intervals.map(\.state) == [.reachable])
    }

    @Test func `the page has what a recording of systemd-networkd gives`() throws {
        let path = Night.file("networkd.rtnl")
        let page = try Night.document("flight-recorder.md")
        for command in [
            "timeline --explain networkd.rtnl default 203.0.113.9",
            "diff --from 13:44:57 networkd.rtnl networkd.rtnl 203.0.113.9",
        ] {
            let words = command.split(separator: " ").map { $0 == "networkd.rtnl" ? path : String($0) }
            let result = try NetflagsProcess.run(words)
            #expect(result.status == 1)
            #expect(page.contains("$ netflags \(command)\n\(result.output)```"), "\(result.output)")
        }
    }

    @Test func `the page and the picture of the documentation are what the recording gives`() throws {
        let timeline = try Night.timeline()
        let text = TimelineText(timeline: timeline, width: 80, isColoured: false)
        let page = try Night.document("flight-recorder.md")
        for write in [text.write, text.writeLosses] {
            var buffer = ByteBuffer()
            write(&buffer)
            #expect(page.contains(String(decoding: buffer.bytes, as: UTF8.self)))
        }
        var picture = ByteBuffer()
        TimelinePicture(timeline, source: "night.rtnl").write(to: &picture)
        #expect(
            try Night.document("images/flight-recorder.svg") == String(decoding: picture.bytes, as: UTF8.self)
        )
    }
}
