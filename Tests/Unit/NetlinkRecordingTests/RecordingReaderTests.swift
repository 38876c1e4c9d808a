// SPDX-License-Identifier: Apache-2.0

import Glibc
internal import NetlinkReachability
import Testing

@testable import NetlinkRecording

struct RecordingReaderTests {
    @Test(arguments: RecordingFixture.all)
    func `every fixture is read to its end, and no message is malformed`(fixture: RecordingFixture) throws {
        let bytes = try fixture.bytes
        let (entries, error) = readRecording(bytes)
        #expect(error == nil)
        #expect(!entries.isEmpty)
        #expect(entries.allSatisfy { !$0.isMalformed })
        #expect(entries.map(\.offset) == entries.map(\.offset).sorted())
        for entry in entries {
            #expect(Array(bytes[Int(entry.offset)...].prefix(entry.bytes.count)) == entry.bytes)
        }
    }

    @Test(arguments: RecordingFixture.all)
    func `a file on disk gives the same entries as its bytes`(fixture: RecordingFixture) throws {
        var entries: [SeenEntry] = []
        var reader = try RecordingReader(path: fixture.path)
        try reader.readAll { entries.append(SeenEntry($0)) }
        #expect(entries == readRecording(try fixture.bytes).entries)
    }

    @Test(arguments: [RecordingFixture.wwanEvents, .multipathEvents])
    func `every notification has the last time stamp, and times do not decrease`(
        fixture: RecordingFixture
    ) throws {
        let entries = readRecording(try fixture.bytes).entries
        // The file starts with a dump of the links, whose messages are marked as its parts.
        let events = entries.drop { $0.bytes[6] & 2 != 0 }
        let times = events.compactMap(\.time)
        #expect(!events.isEmpty && times.count == events.count)
        #expect(times == times.sorted())
    }

    @Test func `a dump has no time stamp, and its flag distinguishes it from a notification`() throws {
        var dumped = 0
        var reader = RecordingReader(bytes: try RecordingFixture.wifi.bytes)
        try reader.readAll { entry in
            if entry.time == nil, case .message(let message) = entry.content, message.isDumped { dumped += 1 }
        }
        #expect(dumped == readRecording(try RecordingFixture.wifi.bytes).entries.count)
    }

    @Test func `the closing message of a dump is skipped`() throws {
        let bytes = try RecordingFixture.neighbours.bytes
        #expect(bytes.suffix(20).prefix(6) == (UInt32(20).hostBytes + UInt16(3).hostBytes)[...])
        #expect(readRecording(bytes).entries.allSatisfy { $0.type == 28 })
    }

    @Test(arguments: [RecordingFixture.wifi, .wwanEvents, .neighbours])
    func `a cut file gives the whole messages before the cut, then its position`(
        fixture: RecordingFixture
    ) throws {
        let bytes = Array(try fixture.bytes.prefix(6_000))
        var boundaries: [Int] = [0]
        while let start = boundaries.last, start + 16 <= bytes.count {
            let next = start + RecordingFormat.padded(Int(bytes[start]) | Int(bytes[start + 1]) << 8)
            if next > bytes.count { break }
            boundaries.append(next)
        }
        // Each byte of the first messages, and then each residue of a length that is a multiple of four.
        for cut in 1..<bytes.count where cut < 1_000 || cut % 5 == 0 {
            let (entries, error) = readRecording(Array(bytes[..<cut]))
            let start = boundaries.last { $0 <= cut } ?? 0
            let rest = cut - start
            let length = rest >= 4 ? Int(bytes[start]) | Int(bytes[start + 1]) << 8 : .max
            // A message may lack its padding, but nothing else.
            if rest == 0 || length <= rest {
                #expect(error == nil, "cut at \(cut)")
            } else {
                #expect(error?.offset == UInt64(start), "cut at \(cut)")
                let missing = rest < 16 ? 16 - rest : RecordingFormat.padded(length) - rest
                #expect(error?.reason == .cut(missing: rest < 16 ? missing : length - rest), "cut at \(cut)")
                #expect(entries.allSatisfy { $0.offset < UInt64(start) }, "cut at \(cut)")
            }
        }
    }

    @Test func `an empty file is an error, not an empty host`() {
        #expect(readRecording([]).error?.reason == .empty)
    }

    @Test(arguments: [0, 1, 15, 65_536, 0x7fff_ffff, 0xffff_ffff] as [UInt32])
    func `an impossible length is refused with its position`(length: UInt32) {
        let good = SampleMessage.route(interface: 1)
        let bad = SampleMessage.bytes(type: 24, payload: [0, 0, 0, 0], length: length)
        let (entries, error) = readRecording(good + bad)
        #expect(entries.count == 1)
        #expect(error?.offset == UInt64(good.count))
        #expect(error?.reason == .length(length))
    }

    @Test func `the longest message is read at any position of the window`() {
        for lead in [0, 1, 1_000, 4_000] {
            let long = SampleMessage.bytes(type: 200, payload: Array(repeating: 7, count: 65_519))
            let bytes =
                Array((0..<lead).map { _ in SampleMessage.route(interface: 1) }.joined()) + long + long
            let (entries, error) = readRecording(bytes)
            #expect(error == nil)
            #expect(entries.suffix(2).map(\.bytes.count) == [65_535, 65_535])
            #expect(entries.last?.bytes.last == 7)
        }
    }

    @Test(arguments: RecordingFixture.all)
    func `a file of the other byte order is refused at its first header with that reason`(
        fixture: RecordingFixture
    ) throws {
        let (entries, error) = readRecording(try fixture.bytes.withForeignHeaders)
        #expect(entries.isEmpty)
        #expect(error == RecordingError(path: "", offset: 0, reason: .foreignByteOrder))
        #expect(error?.description.contains("other byte order") == true)
    }

    @Test func `no length of a message can be mistaken for one of the other byte order`() {
        for length in RecordingFormat.lengths {
            if RecordingFormat.lengths.contains(length.byteSwapped) { Issue.record("\(length)") }
        }
    }

    @Test func `after an error each further call throws it again`() {
        var reader = RecordingReader(bytes: Array(SampleMessage.route(interface: 1).dropLast(5)))
        for _ in 0..<3 {
            #expect(throws: RecordingError(path: "", offset: 0, reason: .cut(missing: 5))) {
                try reader.next { _ in }
            }
        }
    }

    @Test func `a short time stamp, or one with too many microseconds, is refused`() {
        let short = SampleMessage.bytes(type: 15, payload: [1, 2, 3, 4])
        #expect(readRecording(short).error?.reason == .timeStamp)
        let wrong = SampleMessage.timeStamp(seconds: 1, microseconds: 1_000_000)
        #expect(readRecording(wrong).error?.reason == .timeStamp)
    }

    @Test func `foreign NOOPs are skipped, and unknown types are passed on`() {
        let noops = [[], [1], Array("netflags".utf8), Array(repeating: 0xff, count: 40)] as [[UInt8]]
        let bytes =
            noops.flatMap { SampleMessage.bytes(type: 1, payload: $0) } + SampleMessage.bytes(type: 999)
        let (entries, error) = readRecording(bytes)
        #expect(error == nil)
        #expect(entries.map(\.type) == [999])
    }

    @Test func `a malformed message is passed on with its position`() {
        var seen: [(UInt64, UInt16)] = []
        var reader = RecordingReader(
            bytes: SampleMessage.route(interface: 1) + SampleMessage.bytes(type: 24, payload: [2, 24]))
        #expect(throws: Never.self) {
            try reader.readAll { entry in
                guard case .message(let message) = entry.content, message.content == .malformed else {
                    return
                }
                seen.append((entry.offset, message.type))
            }
        }
        #expect(seen.count == 1 && seen.first ?? (0, 0) == (44, 24))
    }

    @Test func `an endless file of zeros is refused at once`() throws {
        var reader = try RecordingReader(path: "/dev/zero")
        #expect(throws: RecordingError(path: "/dev/zero", offset: 0, reason: .length(0))) {
            try reader.next { _ in }
        }
    }

    @Test func `a pipe is read as data arrives`() throws {
        let pipe = try openPipe()
        defer { close(pipe.reading) }
        var reader = RecordingReader(descriptor: pipe.reading, path: "pipe")
        for interface in UInt8(1)...3 {
            let bytes = SampleMessage.route(interface: interface)
            #expect(write(pipe.writing, bytes, bytes.count) == bytes.count)
            // Were the reader to wait for more than a message, it would wait for ever here. The first look at
            // a file is for 24 bytes, and a route has 44.
            #expect(try reader.next { Array(SeenEntry($0).bytes) } == bytes)
        }
        close(pipe.writing)
        #expect(try reader.next { _ in } == nil)
    }

    @Test(arguments: [("/nonexistent/file", ENOENT), ("/tmp", EISDIR)])
    func `an unreadable file gives the errno`(path: String, number: Int32) {
        let error = #expect(throws: RecordingError.self) {
            var reader = try RecordingReader(path: path)
            _ = try reader.next { _ in }
        }
        #expect(error?.reason == .unreadable(number))
        #expect(error?.description == "\(path): \(String(cString: strerror(number))) (errno \(number))")
    }
}
