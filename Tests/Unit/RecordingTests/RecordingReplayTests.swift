// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// Recordings of real kernels, replayed through the monitor's state machine.
struct RecordingReplayTests {
    private static let targets =
        ["127.0.0.1", "198.51.100.7", "10.0.0.1", "::1", "2001:db8::1"].compactMap {
            IPAddress($0).map(ReachabilityTarget.address)
        } + [.defaultPath]

    /// A dummy interface is set up, loses its carrier, has it again, goes down and away.
    private let dummy = RecordedScenario(name: "01-dummy")
    private let folder: RecordingFolder

    init() throws {
        folder = try RecordingFolder()
    }

    @Test(arguments: RecordedNetwork.scenarios)
    func `a change has the report that the network of its time gives`(scenario: RecordedScenario) throws {
        let recording = try folder.file(scenario.recording())
        let changes = try recording.steps(Self.targets, onChangeOf: .report).changes
        #expect(changes.filter(\.isFirst).map(\.index) == Array(Self.targets.indices))
        for change in changes {
            let source = try recording.source(at: change.time)
            let expected = Result { () throws(ReachabilityError) in
                try NetworkReachability(target: Self.targets[change.index], source: source).blockingReport(
                    .brief)
            }
            #expect(change.result.map(\.summary) == expected.map(\.summary), "\(change.time)")
        }
    }

    @Test(arguments: RecordedNetwork.scenarios) func `the last results are those of the end of the recording`(
        scenario: RecordedScenario
    ) throws {
        let recording = try folder.file(scenario.recording())
        let changes = try recording.steps(Self.targets).changes
        let source = try recording.source()
        for (index, target) in Self.targets.enumerated() {
            let last = try #require(changes.last { $0.index == index })
            let expected = Result { () throws(ReachabilityError) in
                try NetworkReachability(target: target, source: source).blockingReport(.brief)
            }
            #expect(last.result.map(\.flags) == expected.map(\.flags), "\(target)")
        }
    }

    @Test func `a change names the event that caused it`() throws {
        let address = try ReachabilityTarget.host("198.51.100.7")
        let changes = try folder.file(dummy.recording()).steps([address]).changes.filter { !$0.isFirst }
        #expect(changes.count >= 2)
        #expect(changes.allSatisfy { change in change.cause.map { $0.time >= change.time } ?? false })
        let texts = changes.compactMap(\.cause?.description)
        #expect(texts.first == "the default route via 192.0.2.1 on dummy0 was added on request (port 153)")
        #expect(texts.contains("dummy0 lost its carrier"))
        // The kernel set it down first.
        #expect(texts.last == "dummy0 was removed on request (port 230)")
    }

    @Test func `the changes of a span are those of the whole replay within it`() throws {
        let recording = try folder.file(dummy.recording())
        let all = try recording.steps(Self.targets).changes
        let times = Set(all.filter { !$0.isFirst }.map(\.time)).sorted()
        let (start, end) = (try #require(times.first), try #require(times.dropLast().last))
        let part = try recording.steps(Self.targets, from: start, to: end).changes
        #expect(part.filter(\.isFirst).allSatisfy { $0.time == start })
        #expect(part.allSatisfy { $0.time >= start && $0.time <= end })
        let later = all.filter { $0.time > start && $0.time <= end }
        // The pauses between evaluations begin anew at the start of the span.
        for index in Self.targets.indices {
            let found = part.filter { $0.index == index && !$0.isFirst }.map(\.result)
            #expect(found == later.filter { $0.index == index }.map(\.result))
        }
        #expect(try recording.source(at: start).links().count > 1)
    }

    @Test func `the files of a directory are one stream`() throws {
        let (dump, events) = try dummy.parts()
        try folder.write(1, dump + events.prefix(10).joined())
        // The second file begins with a dump: that of the network at the end of the first.
        try folder.write(
            2, [RecordingAnnotation.continued].recording + dump + events.joined())
        let whole = try folder.file(dump + events.joined()).steps(Self.targets)
        let steps = try folder.recording.steps(Self.targets)
        #expect(steps.marks == [])
        #expect(steps.changes.last?.result == whole.changes.last?.result)
        #expect(try folder.recording.span() == folder.file(dump + events.joined()).span())
    }

    @Test(arguments: [1, 15, 17, 40])
    func `a file that ends inside a message is read to its last whole message`(missing: Int) throws {
        let (dump, events) = try dummy.parts()
        let whole = dump + events.prefix(20).joined()
        let cut = Array(whole.dropLast(missing))
        let file = try folder.file(cut)
        let steps = try file.steps(Self.targets)
        let damage = try #require(steps.marks.first?.damage)
        #expect(steps.marks == [.cut(damage)])
        #expect(damage.path.hasSuffix("/file.rtnl") && damage.description.contains("ends inside a message"))
        #expect(try file.source().damage == [damage])
        #expect(steps.changes.filter(\.isFirst).count == Self.targets.count)
        try folder.write(7, cut)
        #expect(try folder.recording.steps(Self.targets).changes == steps.changes)
        // What was recorded later follows.
        try folder.write(8, dump + events.joined() + [RecordingAnnotation.end].recording)
        let both = try folder.recording.steps(Self.targets)
        #expect(both.marks.first?.damage?.offset == damage.offset && both.marks.last == .ended)
        #expect(both.changes.count > steps.changes.count)
    }

    @Test func `a file that is cut inside its dump leaves the network of the file before`() throws {
        let (dump, events) = try dummy.parts()
        let whole = try folder.file(dump + events.joined())
        try folder.write(1, dump + events.joined())
        try folder.write(2, Array(dump.prefix(dump.count / 2 + 1)))
        #expect(try folder.recording.source().links() == whole.source().links())
        let steps = try folder.recording.steps(Self.targets)
        #expect(try steps.changes == whole.steps(Self.targets).changes)
        // The first file does not say how it ended.
        #expect(steps.marks.first == .interrupted && steps.marks.last?.damage != nil)
    }

    @Test func `a directory is read without its empty files, links and strangers`() throws {
        try folder.write(1, dummy.recording())
        try folder.write(2, [])
        let link = folder.url.appending(path: RecordingDirectory.name(3)).path()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/zero")
        mkfifo(folder.url.appending(path: RecordingDirectory.name(4)).path(), 0o600)
        try Data([1, 2, 3]).write(to: folder.url.appending(path: "netflags-1.rtnl"))
        let expected = try folder.file(dummy.recording()).steps(Self.targets).changes
        #expect(try folder.recording.steps(Self.targets).changes == expected)
    }

    @Test func `a directory without a recording is an error that names what to do`() throws {
        let error = #expect(throws: ReachabilityError.self) { try folder.recording.steps() }
        #expect(error?.code == .unreadableRecording)
        #expect(error?.message.contains("netflags record DIRECTORY --keep SIZE") == true)
    }

    @Test func `a directory that is refused does not stay open`() throws {
        #expect(throws: ReachabilityError.self) { try folder.recording.steps() }
        #expect(ProcessResources.descriptors(beginning: folder.url.path()).isEmpty)
    }

    @Test func `a pipe is replayed as its file is`() throws {
        let bytes = try dummy.recording()
        let pipe = Pipe()
        let writer = Thread {
            try? pipe.fileHandleForWriting.write(contentsOf: Data(bytes))
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        let steps = try Recording(descriptor: descriptor, name: "pipe").steps(Self.targets)
        #expect(try steps == folder.file(bytes).steps(Self.targets))
    }

    @Test func `marks of the recorder are steps, and nothing is evaluated until the next dump`() throws {
        let (dump, events) = try dummy.parts()
        let gaps: [RecordingAnnotation] = [
            .overrun, .suspended(milliseconds: 7_000), .stalled(milliseconds: 2_500),
            .unwritten(number: ENOSPC),
        ]
        for (gap, mark) in zip(
            gaps,
            [
                Recording.Mark.Kind.overrun, .suspended(.seconds(7)), .stalled(.milliseconds(2_500)),
                .unwritten(ENOSPC),
            ])
        {
            let head = dump + events.prefix(5).joined() + [gap].recording
            let before = try folder.file(dump + events.prefix(5).joined()).steps(Self.targets).changes
            let lost = try folder.file(head).steps(Self.targets)
            #expect(lost.marks == [mark])
            #expect(lost.resumptions.isEmpty)
            let steps = try folder.file(head + dump + events.joined()).steps(Self.targets)
            #expect(steps.marks == [mark])
            #expect(steps.resumptions.count == 1)
            // The same changes up to the mark; those after it come with the dump.
            let place = try #require(steps.firstIndex { if case .mark = $0 { true } else { false } })
            #expect(before.starts(with: steps[..<place].map(\.self).changes))
            #expect(
                try steps.changes.last?.result
                    == folder.file(dump + events.joined()).steps(Self.targets).changes.last?.result)
        }
    }

    @Test func `a dump that comes later does not replace the network before its time`() throws {
        let (dump, events) = try dummy.parts()
        let head = dump + events.joined()
        let end = try #require(try folder.file(head).span()?.upperBound)
        let network = try #require(dummy.networks.first)
        let later = Double(end.microsecondsSince1970 / 1_000_000 + 100)
        let recording = try folder.file(head + network.markedRecording(at: later))
        let source = try recording.source(at: end.advanced(by: .seconds(1)))
        #expect(try source.links() == folder.file(head).source().links())
    }

    @Test func `each notification is a step where events are asked for`() throws {
        let (dump, parts) = try dummy.parts()
        let events = try folder.file(dump + parts.joined()).steps(yieldsEvents: true).events
        #expect(events.count > 10)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.time <= $1.time })
        let texts = Set(
            events.map { $0.description.split(separator: " ").dropFirst().joined(separator: " ") })
        for text in ["was set up", "was set down", "lost its carrier", "has a carrier", "was removed"] {
            #expect(texts.contains { $0.hasPrefix(text) }, "\(texts)")
        }
    }

    @Test func `a name is refused, because a recording contains none`() throws {
        let recording = try folder.file(dummy.recording())
        let error = #expect(throws: ReachabilityError.self) {
            try recording.steps([.host("example.com")])
        }
        #expect(error?.code == .invalidHost)
    }

    /// A kind of gap as a recorder or a damaged disk leaves it: what ends a file's notifications, and what begins the
    /// next file, whose dump ends the gap.
    enum Gap: CaseIterable {
        case overrun, suspended, stalled, unwritten, ended, interrupted, cut, zeroes, garbage, malformed

        func end(_ time: Recording.Time) -> [UInt8] {
            switch self {
            case .overrun: stated(.overrun, time)
            case .suspended: stated(.suspended(milliseconds: 100_000_000), time)
            case .stalled: stated(.stalled(milliseconds: 100_000_000), time)
            case .ended: [RecordingAnnotation.end].recording
            case .unwritten, .interrupted: []
            case .cut: [40, 0, 0, 0, 24, 0]
            case .zeroes: Array(repeating: 0, count: 512)
            case .garbage: Array(repeating: 0xa5, count: 4_096)
            // A route without a body, and a message that cannot be trusted after it.
            case .malformed: [20, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 24, 0, 0]
            }
        }

        func begin(_ time: Recording.Time) -> [UInt8] {
            switch self {
            case .unwritten: stated(.unwritten(number: ENOSPC), time)
            // The recorder did not notice the damage.
            case .overrun, .suspended, .stalled, .cut, .zeroes, .garbage, .malformed:
                [RecordingAnnotation.continued].recording
            case .ended, .interrupted: []
            }
        }

        func isMark(_ kind: Recording.Mark.Kind) -> Bool {
            switch kind {
            case .overrun: self == .overrun
            case .suspended: self == .suspended
            case .stalled: self == .stalled
            case .unwritten: self == .unwritten
            case .ended: self == .ended
            case .interrupted: self == .interrupted
            case .cut: self == .cut
            case .damaged: [.zeroes, .garbage, .malformed].contains(self)
            case .clockSet, .clockBehind: false
            }
        }

        private func stated(_ annotation: RecordingAnnotation, _ time: Recording.Time) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.appendTimeStamp(time)
            return bytes + [annotation].recording
        }
    }

    /// What could not be written was drawn as recorded: the gap began at the statement of the recorder, which it makes
    /// when it can write again.
    @Test(arguments: Gap.allCases)
    func `a gap of any kind lasts from the last message before it to the end of the next dump`(gap: Gap)
        throws
    {
        let (dump, events) = try dummy.parts()
        let head = dump + events.prefix(8).joined()
        let last = try #require(try folder.file(head).span()?.upperBound)
        let next = last.microsecondsSince1970 / 1_000_000 + 100
        let stated = Recording.Time(microsecondsSince1970: (next - 1) * 1_000_000)
        try folder.write(1, head + gap.end(stated))
        try folder.write(
            2, gap.begin(stated) + #require(dummy.networks.first).markedRecording(at: Double(next)))
        let steps = try folder.recording.steps(Self.targets)
        let marks = steps.compactMap { if case .mark(let mark) = $0 { mark } else { nil } }
        #expect(marks.count == 1 && marks.allSatisfy { $0.time == last && gap.isMark($0.kind) })
        #expect(steps.resumptions == [Recording.Time(microsecondsSince1970: next * 1_000_000)])
        // What came before is read whole, and nothing is answered within the gap.
        let before = try folder.file(head).steps(Self.targets).changes
        #expect(steps.changes.filter { $0.time <= last } == before)
        let within = try folder.recording.source(at: last.advanced(by: .seconds(50)))
        let error = #expect(throws: ReachabilityError.self) {
            try NetworkReachability(target: .defaultPath, source: within).blockingFlags()
        }
        #expect(error?.code == .undecided)
    }

    @Test func `a file of zeros among others is a gap, and the network at the end is that of the last file`()
        throws
    {
        try folder.write(1, dummy.recording())
        try folder.write(2, Array(repeating: 0, count: 4_096))
        let error = #expect(throws: ReachabilityError.self) {
            try Recording(path: folder.url.appending(path: RecordingDirectory.name(2)).path()).steps(
                Self.targets)
        }
        #expect(error?.code == .unreadableRecording)
        try folder.write(3, [RecordingAnnotation.continued].recording + dummy.recording())
        let steps = try folder.recording.steps(Self.targets)
        #expect(steps.marks.compactMap(\.damage).map(\.offset) == [0])
        #expect(steps.marks.first?.damage?.path.hasSuffix(RecordingDirectory.name(2)) == true)
        #expect(steps.resumptions.count == 1)
        #expect(try folder.recording.source().damage.count <= 1)
    }

    @Test func `a gap of sleep begins when the machine fell asleep`() throws {
        let (dump, events) = try dummy.parts()
        let head = dump + events.prefix(8).joined()
        let last = try #require(try folder.file(head).span()?.upperBound)
        var bytes = head
        bytes.appendTimeStamp(
            last.advanced(by: .seconds(60)))
        bytes += [RecordingAnnotation.suspended(milliseconds: 20_000)].recording
        let steps = try folder.file(bytes).steps(Self.targets)
        let times = steps.compactMap { if case .mark(let mark) = $0 { mark.time } else { nil } }
        #expect(times == [last.advanced(by: .seconds(40))])
    }

    @Test func `a change is noticed at its time among notifications that come each millisecond`() throws {
        let (dump, events) = try dummy.parts()
        // The address and the default route come, and then another route comes and goes for three seconds.
        let head = try #require(
            try folder.file(dump + events.joined()).steps(Self.targets).changes.first { !$0.isFirst }?.time)
        var bytes = dump
        for event in events where try time(event) <= head { bytes += event }
        let steps = try folder.file(bytes).steps(Self.targets).changes
        for number in 1...3_000 as ClosedRange<Int64> {
            bytes.appendTimeStamp(
                Recording.Time(microsecondsSince1970: head.microsecondsSince1970 + number * 1_000))
            bytes.appendMessage(type: number % 2 == 0 ? 24 : 25, payload: Self.route)
        }
        let found = try folder.file(bytes).steps(Self.targets).changes
        #expect(found.count >= steps.count)
        let change = try #require(found.first { !$0.isFirst })
        #expect(head.duration(to: change.time) < .seconds(1))
    }

    /// The time stamp that an event begins with.
    private func time(_ event: [UInt8]) throws -> Recording.Time {
        var reader = RecordingReader(bytes: event)
        return try #require(try reader.next { $0.time } ?? nil)
    }

    /// 10.9.9.0/24 of the main table.
    private static let route: [UInt8] =
        [2, 24, 0, 0, 254, 3, 0, 7, 0, 0, 0, 0, 8, 0, 1, 0, 10, 9, 9, 0]

    @Test func `the network of an instant in a long file is that of its last dump before`() throws {
        let (dump, events) = try dummy.parts()
        let whole = try folder.file(dump + events.joined())
        let times = Set(try whole.steps(Self.targets).changes.map(\.time)).sorted()
        // The same dump again before each change: each is one to begin at.
        var bytes = [RecordingAnnotation.origin("Linux 6.1.0 x86_64")].recording + dump
        for event in events { bytes += event }
        let network = try #require(dummy.networks.last)
        let end = try #require(times.last)
        let later = Double(end.microsecondsSince1970 / 1_000_000 + 5)
        bytes += try network.markedRecording(at: later) + events.joined()
        let long = try folder.file(bytes, "long.rtnl")
        for time in times {
            #expect(try long.source(at: time).links() == whole.source(at: time).links())
        }
        let last = try long.routing(at: end.advanced(by: .seconds(10)))
        #expect(last.routing.snapshot.kernel != nil)
        let tail = try long.steps(Self.targets, from: #require(try long.span()).upperBound).changes
        #expect(tail.filter(\.isFirst).count == Self.targets.count)
    }

    @Test func `the network of the first and the last time that a number holds is answered`() throws {
        let recording = try folder.file(dummy.recording())
        for time in [Int64.min, .max].map({ Recording.Time(microsecondsSince1970: $0) }) {
            _ = try recording.source(at: time)
            _ = try recording.steps(Self.targets, from: time, to: time)
        }
    }

    @Test func `a file that is missing between others is a gap for everything that reads a directory`() throws
    {
        let (dump, events) = try dummy.parts()
        let head = dump + events.prefix(8).joined()
        let last = try #require(try folder.file(head).span()?.upperBound)
        let next = last.microsecondsSince1970 / 1_000_000 + 100
        try folder.write(1, head)
        try folder.write(
            3,
            [RecordingAnnotation.continued].recording
                + #require(dummy.networks.first).markedRecording(at: Double(next)))
        let steps = try folder.recording.steps(Self.targets)
        let marks = steps.compactMap { if case .mark(let mark) = $0 { mark } else { nil } }
        #expect(marks.map(\.time) == [last])
        #expect(marks.first?.description.hasSuffix("/netflags-0000000002.rtnl: the file is missing") == true)
        #expect(steps.resumptions == [Recording.Time(microsecondsSince1970: next * 1_000_000)])
        let within = try folder.recording.source(at: last.advanced(by: .seconds(50)))
        let error = #expect(throws: ReachabilityError.self) {
            try NetworkReachability(target: .defaultPath, source: within).blockingFlags()
        }
        #expect(error?.code == .undecided)
        #expect(within.damage == marks.compactMap(\.kind.damage))
        // The end is after the gap, and begins with the last dump.
        #expect(try folder.recording.source().damage == [])
    }

    @Test func `a clock that jumps by decades costs no time`() throws {
        let (dump, events) = try dummy.parts()
        var bytes = dump
        bytes.appendTimeStamp(Recording.Time(seconds: .max, microseconds: 0))
        bytes += [RecordingAnnotation.unwatched].recording
        let recording = try folder.file(bytes + events.joined() + dump)
        #expect(try recording.steps(Self.targets).changes.count >= Self.targets.count)
    }
}

extension ReachabilityReport {
    /// What a brief report promises, and the flags' reason.
    fileprivate var summary: [String] {
        [flags.letters, "\(reason)", interface?.name ?? "-", gateway?.description ?? "-"]
    }
}

extension NetworkSource {
    /// The interfaces, which have no order.
    fileprivate func links() throws -> Set<Link> {
        Set(try facts.routing.links())
    }
}
