// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkRecording

/// Builds a classic pcap file of netlink, from the layout that its format's documents give.
struct SampleCapture {
    var isSwapped = false
    var isNanosecond = false
    var linkType: UInt32 = 253
    var version: UInt16 = 2
    private var records: [UInt8] = []

    init(isSwapped: Bool = false, isNanosecond: Bool = false, linkType: UInt32 = 253, version: UInt16 = 2) {
        self.isSwapped = isSwapped
        self.isNanosecond = isNanosecond
        self.linkType = linkType
        self.version = version
    }

    private func number<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        (isSwapped ? value.byteSwapped : value).hostBytes
    }

    /// Magic, version 2.4, time zone, accuracy, longest record, link type; then the records.
    var bytes: [UInt8] {
        number(isNanosecond ? 0xa1b2_3c4d : 0xa1b2_c3d4 as UInt32) + number(version) + number(4 as UInt16)
            + number(0 as UInt32) + number(0 as UInt32) + number(262_144 as UInt32) + number(linkType)
            + records
    }

    /// Seconds, fraction, captured length, original length; then 16 bytes in network order; then a datagram.
    mutating func add(
        _ datagram: [UInt8],
        family: UInt16 = 0,
        hardwareType: UInt16 = 824,
        originalLength: UInt32? = nil,
        fraction: UInt32? = nil
    ) {
        let length = UInt32(16 + datagram.count)
        records += number(SampleMessage.time.seconds)
        records += number(fraction ?? SampleMessage.time.microseconds * (isNanosecond ? 1_000 : 1))
        records += number(length) + number(originalLength ?? length)
        records += [0, 4] + hardwareType.bigEndian.hostBytes + Array(repeating: 0, count: 10)
        records += family.bigEndian.hostBytes + datagram
    }
}

struct RecordingCaptureTests {
    private static let event = SampleMessage.route(interface: 1, flags: 0x600)
    private static let other = SampleMessage.route(interface: 2, flags: 0x600)
    private static let dumped = SampleMessage.route(interface: 3, flags: 2, sequence: 9)

    @Test(arguments: [false, true], [false, true])
    func `each byte order and resolution of the headers is read`(isSwapped: Bool, isNanosecond: Bool) {
        var capture = SampleCapture(isSwapped: isSwapped, isNanosecond: isNanosecond)
        capture.add(Self.event)
        capture.add(Self.dumped + Self.other)
        let (entries, error) = readRecording(capture.bytes)
        #expect(error == nil)
        #expect(entries.map(\.bytes) == [Self.event, Self.dumped, Self.other])
        #expect(entries.map(\.offset) == [56, 132, 176])
        #expect(entries.allSatisfy { $0.time == SampleMessage.time && !$0.isMalformed })
    }

    @Test func `other netlink families are skipped, also long records`() {
        var capture = SampleCapture()
        capture.add(Array(repeating: 0xff, count: 300_001), family: 12)
        capture.add(Self.event)
        capture.add([1, 2, 3], family: 16)
        let (entries, error) = readRecording(capture.bytes)
        #expect(error == nil)
        #expect(entries.map(\.bytes) == [Self.event])
    }

    @Test func `copies of a datagram for several sockets count once`() {
        var capture = SampleCapture()
        for datagram in [Self.event, Self.event, Self.event, Self.other, Self.event] { capture.add(datagram) }
        #expect(readRecording(capture.bytes).entries.map(\.bytes) == [Self.event, Self.other, Self.event])
    }

    @Test func `requests, acknowledgements and answers to single requests are skipped`() {
        var capture = SampleCapture()
        capture.add(SampleMessage.route(interface: 0, flags: 1, sequence: 7, type: 26))
        capture.add(SampleMessage.route(interface: 5, flags: 0, sequence: 7))
        // A command: the acknowledgement answers it, and its sequence number is in the event too.
        capture.add(SampleMessage.route(interface: 1, flags: 0x605, sequence: 8))
        capture.add(SampleMessage.route(interface: 1, flags: 0x600, sequence: 8))
        capture.add(SampleMessage.bytes(type: 2, sequence: 8, payload: Array(repeating: 0, count: 20)))
        // A query that is refused: a later event may have its number.
        capture.add(SampleMessage.route(interface: 0, flags: 1, sequence: 9, type: 26))
        capture.add(SampleMessage.bytes(type: 2, sequence: 9, payload: Array(repeating: 1, count: 20)))
        capture.add(SampleMessage.route(interface: 6, flags: 0, sequence: 9))
        // A dump.
        capture.add(SampleMessage.bytes(type: 26, flags: 0x301, sequence: 10, payload: [0]))
        capture.add(SampleMessage.route(interface: 3, flags: 2, sequence: 10))
        capture.add(SampleMessage.bytes(type: 3, flags: 2, sequence: 10, payload: [0, 0, 0, 0]))
        let (entries, error) = readRecording(capture.bytes)
        #expect(error == nil)
        #expect(entries.map { $0.bytes.last { $0 != 0 } } == [1, 6, 3])
    }

    @Test(arguments: [false, true])
    func `a cut capture is refused at the cut record`(isSwapped: Bool) {
        var capture = SampleCapture(isSwapped: isSwapped)
        capture.add(Self.event)
        capture.add([9, 9, 9, 9, 9, 9, 9], family: 16)
        capture.add(Self.other)
        let bytes = capture.bytes
        let boundaries = [24, 24 + 76, 24 + 76 + 39, bytes.count]
        for cut in 4..<bytes.count where !boundaries.contains(cut) {
            let error = readRecording(Array(bytes[..<cut])).error
            let start = cut < 24 ? 0 : boundaries.last { $0 < cut } ?? 0
            #expect(error?.offset == UInt64(start), "cut at \(cut)")
            #expect(error.map { if case .cut = $0.reason { true } else { false } } == true, "cut at \(cut)")
        }
    }

    @Test func `a message that overruns its datagram is refused, not completed from the next record`() {
        var capture = SampleCapture()
        capture.add(Array(Self.event.dropLast(8)))
        capture.add(Self.other)
        let (entries, error) = readRecording(capture.bytes)
        #expect(entries.isEmpty)
        #expect(error == RecordingError(path: "", offset: 56, reason: .cut(missing: 8)))
    }

    @Test func `messages of the other byte order are refused, also behind readable headers`() {
        var capture = SampleCapture(isSwapped: true)
        capture.add(Self.event.withForeignHeaders)
        #expect(readRecording(capture.bytes).error?.reason == .foreignByteOrder)
    }

    @Test func `pcapng is refused with a command to convert it`() {
        let error = readRecording([0x0a, 0x0d, 0x0d, 0x0a] + Array(repeating: 0, count: 40)).error
        #expect(error?.reason == .nextGenerationCapture)
        #expect(error?.description.contains("editcap -F pcap") == true)
    }

    @Test func `a capture of another link type, version or hardware type is refused`() {
        #expect(readRecording(SampleCapture(linkType: 1).bytes).error?.reason == .captureLinkType(1))
        #expect(readRecording(SampleCapture(version: 3).bytes).error?.reason == .captureVersion(3))
        var capture = SampleCapture()
        capture.add(Self.event, hardwareType: 1)
        #expect(readRecording(capture.bytes).error?.reason == .captureRecord(length: 60))
    }

    @Test func `a capture of partial messages is refused with a command to capture whole ones`() {
        var capture = SampleCapture()
        capture.add(Self.event, originalLength: 4_000)
        let error = readRecording(capture.bytes).error
        #expect(error?.reason == .captureIsShortened(captured: 60, original: 4_000))
        #expect(error?.description.contains("tcpdump -s 0") == true)
    }

    @Test(arguments: [0, 15, 65_552, 0x7fff_ffff, 0xffff_ffff] as [UInt32])
    func `a record of an impossible length is refused`(length: UInt32) {
        var capture = SampleCapture()
        capture.add(Self.event)
        var bytes = capture.bytes
        bytes.replaceSubrange(32..<36, with: length.hostBytes)
        #expect(
            readRecording(bytes).error
                == RecordingError(
                    path: "", offset: 24, reason: .captureRecord(length: length)))
    }

    @Test func `a capture without records is an empty recording, not an error`() {
        #expect(readRecording(SampleCapture().bytes) == ([], nil))
    }
}
