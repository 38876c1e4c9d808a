// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkRecording

/// Host clocks that are set, or wrong from the start, in recordings that are made up; all numbers are seconds.
struct RecordedClockTests {
    private static let hour: Int64 = 3_600
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // MARK: Writing

    private func bytes(_ annotation: RecordingAnnotation) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(annotation)
        return bytes
    }

    /// A statement of the clocks.
    private func clock(
        _ boot: UInt64 = 1, isBootKnown: Bool = true, at sinceBoot: Int64, wall: Int64
    ) -> [UInt8] {
        let reading = ClockReading(
            boot: 7 << 64 | UInt128(boot), isBootKnown: isBootKnown, sinceBoot: sinceBoot * 1_000_000,
            sinceEpoch: wall * 1_000_000)
        return bytes(.clock(reading))
    }

    private func stamp(_ second: Int64) -> [UInt8] {
        SampleMessage.timeStamp(Recording.Time(microsecondsSince1970: second * 1_000_000))
    }

    private func dump(_ second: Int64) -> [UInt8] {
        bytes(.dumpBegins) + stamp(second)
            + SampleMessage.route(interface: 1, flags: 2) + bytes(.dumpEnds)
    }

    /// A notification a second.
    private func events(_ seconds: ClosedRange<Int64>) -> [UInt8] {
        seconds.flatMap { stamp($0) + SampleMessage.route(interface: 2) }
    }

    // MARK: Reading

    /// The times of the notifications, and what happened to the clock.
    private struct Reading: Equatable {
        var seconds: [Int64] = []
        var steps: [Recording.Mark.Kind] = []
    }

    private func read(_ stream: consuming RecordingStream) -> Reading {
        var stream = stream
        var (reading, isOver) = (Reading(), false)
        while !isOver {
            isOver =
                stream.next { entry in
                    if let change = entry.clockChange { reading.steps.append(change) }
                    if case .message(let message) = entry.content, !message.isDumped, let time = entry.time {
                        reading.seconds.append(time.microsecondsSince1970 / 1_000_000)
                    }
                    return false
                } ?? true
        }
        return reading
    }

    private func read(_ files: [UInt8]..., from start: Int64? = nil) throws -> Reading {
        for (number, bytes) in zip((1 as UInt64)..., files) {
            let file = open(folder.path(number), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            try #require(bytes.write(to: file).count == bytes.count)
            close(file)
        }
        let time = start.map { Recording.Time(microsecondsSince1970: $0 * 1_000_000) }
        return read(try RecordingStream(path: folder.path, from: time))
    }

    private func set(_ seconds: Int64) -> Recording.Mark.Kind { .clockSet(.seconds(seconds)) }
    private func behind(_ seconds: Int64) -> Recording.Mark.Kind { .clockBehind(.seconds(seconds)) }

    // MARK: Clocks that are set

    @Test(arguments: [-hour, 2 * hour])
    func `the times before a clock was set are corrected, and every notification is there`(change: Int64)
        throws
    {
        let before = clock(at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_005)
        let after =
            stamp(10_006) + clock(at: 106, wall: 10_006 + change)
            + events((10_007 + change)...(10_009 + change))
        let expected =
            Array((10_001 + change)...(10_005 + change)) + Array((10_007 + change)...(10_009 + change))
        #expect(try read(before + after) == Reading(seconds: expected, steps: [set(change)]))
    }

    @Test func `a clock that is set twice counts as it is at the end, over all files of its start`() throws {
        let first =
            clock(at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_002)
            + stamp(10_003) + clock(at: 103, wall: 6_403) + events(6_404...6_405)
        let second =
            clock(at: 106, wall: 6_406) + bytes(.continued) + dump(6_406)
            + stamp(6_407) + clock(at: 107, wall: 20_007) + events(20_008...20_009)
        let expected: [Int64] = [20_001, 20_002, 20_004, 20_005, 20_008, 20_009]
        #expect(
            try read(first, second) == Reading(seconds: expected, steps: [set(-3_600), set(13_600)]))
    }

    @Test func `a clock that was set while no recorder ran is noted, and the times before it are corrected`()
        throws
    {
        let first = clock(at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_002)
        let second = clock(at: 200, wall: 17_300) + dump(17_300) + events(17_301...17_302)
        #expect(
            try read(first, second)
                == Reading(seconds: [17_201, 17_202, 17_301, 17_302], steps: [set(7_200)]))
    }

    @Test func `a pipe, which is read once, has the clock that it states first`() {
        let bytes =
            clock(at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_002)
            + stamp(10_003) + clock(at: 103, wall: 6_403) + events(6_404...6_405)
        #expect(
            read(RecordingStream(bytes: bytes))
                == Reading(seconds: [10_001, 10_002, 10_004, 10_005], steps: [set(-3_600)]))
    }

    @Test func `reading begins at the last dump before a corrected time`() throws {
        let first = clock(at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_005)
        let second =
            clock(at: 106, wall: 6_406) + bytes(.continued) + dump(6_406)
            + events(6_407...6_409)
        #expect(try read(first, second).seconds == [6_401, 6_402, 6_403, 6_404, 6_405, 6_407, 6_408, 6_409])
        #expect(try read(first, second, from: 6_408).seconds == [6_407, 6_408, 6_409])
        #expect(try read(first, second, from: 6_403).seconds.count == 8)
    }

    // MARK: Clocks that are behind

    @Test func `a host with a clock that is behind started after the last entry before`() throws {
        let first = clock(1, at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_005)
        let second = clock(2, at: 5, wall: 9_405) + dump(9_405) + events(9_406...9_408)
        #expect(
            try read(first, second)
                == Reading(
                    seconds: Array(10_001...10_005) + [10_011, 10_012, 10_013], steps: [behind(605)]))
    }

    @Test func `a start whose clock is set later has its own times`() throws {
        let first = clock(1, at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_005)
        let second =
            clock(2, at: 5, wall: 9_405) + dump(9_405) + events(9_406...9_408)
            + stamp(9_409) + clock(2, at: 9, wall: 10_109) + events(10_110...10_111)
        #expect(
            try read(first, second)
                == Reading(
                    seconds: Array(10_001...10_005) + [10_106, 10_107, 10_108, 10_110, 10_111],
                    steps: [set(700)]))
    }

    @Test(arguments: [Int64.min, -1 << 53, 1 << 53, .max])
    func `a clock of centuries is not a statement`(time: Int64) {
        let reading = ClockReading(boot: 7 << 64 | 1, sinceBoot: 0, sinceEpoch: time)
        let payload = RecordingAnnotation.clock(reading).payload
        #expect(payload.withUnsafeBytes { RecordingAnnotation(payload: $0) } == nil)
    }

    @Test func `clocks that are set back and ahead by centuries end no reader`() throws {
        let (far, century) = (Int64(1) << 33, Int64(1) << 32)
        var bytes = clock(at: 0, wall: 0) + dump(1)
        // The sum of a thousand exceeds an Int64 of microseconds.
        for _ in 0..<2_000 {
            bytes += clock(at: 0, wall: far) + stamp(century - 1) + SampleMessage.route(interface: 2)
            bytes += clock(at: 0, wall: 0) + stamp(century - 2) + SampleMessage.route(interface: 2)
        }
        let seconds = try read(bytes).seconds
        #expect(seconds.count == 4_000 && seconds == seconds.sorted())
    }

    // MARK: Starts that are not known

    // Each recorder was one of a start of its own, and what followed was late by the uptime of the host.
    @Test func `a recorder that does not know the start of the host moves no time`() throws {
        let first =
            clock(1, isBootKnown: false, at: 5_000, wall: 10_000) + dump(10_000) + events(10_001...10_002)
        let second =
            clock(2, isBootKnown: false, at: 5_100, wall: 10_100) + dump(10_100) + events(10_101...10_102)
        let third = clock(3, at: 5_200, wall: 10_200) + dump(10_200) + events(10_201...10_202)
        let fourth =
            clock(4, isBootKnown: false, at: 5_300, wall: 10_300) + dump(10_300) + events(10_301...10_302)
        let expected: [Int64] = [10_001, 10_002, 10_101, 10_102, 10_201, 10_202, 10_301, 10_302]
        #expect(try read(first, second, third, fourth) == Reading(seconds: expected, steps: []))
    }

    @Test func `a clock that is set while it runs corrects its times, and no others`() throws {
        let first =
            clock(1, isBootKnown: false, at: 5_000, wall: 10_000) + dump(10_000) + events(10_001...10_002)
        let second =
            clock(2, isBootKnown: false, at: 5_100, wall: 10_100) + dump(10_100) + events(10_101...10_102)
            + stamp(10_103) + clock(2, isBootKnown: false, at: 5_103, wall: 17_303) + events(17_304...17_305)
        #expect(
            try read(first, second)
                == Reading(seconds: [10_001, 10_002, 17_301, 17_302, 17_304, 17_305], steps: [set(7_200)]))
    }

    @Test func `a clock that is behind is after the last entry, where the start is not known`() throws {
        let first =
            clock(1, isBootKnown: false, at: 5_000, wall: 10_000) + dump(10_000) + events(10_001...10_005)
        let second = clock(2, isBootKnown: false, at: 5, wall: 9_405) + dump(9_405) + events(9_406...9_408)
        #expect(
            try read(first, second)
                == Reading(
                    seconds: Array(10_001...10_005) + [10_006, 10_007, 10_008], steps: [behind(600)]))
    }

    // A unit with ProcSubset=pid has no file of the boot identifier.
    @Test func `the start of the host is read from a file, or else from the environment`() throws {
        let number = UInt128(0x0123_4567_89ab_cdef) << 64 | 0xfedc_ba98_7654_3210
        let text = "01234567-89ab-cdef-fedc-ba9876543210"
        let file = try TemporaryFile(Array("\(text)\n".utf8))
        let plain = text.filter { $0 != "-" }
        #expect(ClockReading.boot(file: file.path, variable: nil) == number)
        #expect(ClockReading.boot(file: file.path, variable: String(plain.reversed())) == number)
        #expect(ClockReading.boot(file: "/nonexistent", variable: plain) == number)
        for other in [nil, "", "%b", text + "0", plain.replacing("a", with: "g")] {
            #expect(ClockReading.boot(file: "/nonexistent", variable: other) == nil)
        }
    }

    // MARK: Recordings without clocks

    @Test func `a file that states no clock has its own stamps, and not the clock of the file before`() throws
    {
        let first = clock(1, at: 100, wall: 10_000) + dump(10_000) + events(10_001...10_002)
        let behind = clock(2, at: 5, wall: 9_405) + dump(9_405) + events(9_406...9_406)
        let stateless = dump(20_000) + events(20_001...20_002)
        #expect(try read(first, behind, stateless).seconds == [10_001, 10_002, 10_008, 20_001, 20_002])
    }

    // The times after it were moved by the uptime of the host.
    @Test func `a file that states no clock can be of the same start as the one after it`() throws {
        let stateless = dump(10_000) + events(10_001...10_002)
        let second = clock(1, at: 5_000, wall: 10_100) + dump(10_100) + events(10_101...10_102)
        #expect(
            try read(stateless, second) == Reading(seconds: [10_001, 10_002, 10_101, 10_102], steps: []))
    }

    @Test func `stamps that go back are read in the order of the file, with a mark`() throws {
        let bytes = dump(10_000) + events(10_001...10_003) + events(6_400...6_402) + events(6_402...6_404)
        #expect(
            try read(bytes)
                == Reading(
                    seconds: [10_001, 10_002, 10_003, 10_003, 10_004, 10_005, 10_005, 10_006, 10_007],
                    steps: [behind(3_603)]))
    }

    @Test func `stamps that go back by seconds only count as the latest time before them`() throws {
        let bytes = dump(10_000) + events(10_001...10_005) + events(10_002...10_007)
        #expect(
            try read(bytes)
                == Reading(
                    seconds: Array(10_001...10_005) + [10_005, 10_005, 10_005, 10_005, 10_006, 10_007]))
    }
}
