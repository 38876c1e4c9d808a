// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkReachability

/// Where a message ends in a datagram, and in the bytes of a recording.
struct MessageBoundsTests {
    /// Whether both ways to read exactly these bytes refuse the message in front.
    private func isRefused(_ bytes: [UInt8]) -> Bool {
        let isWrapped = withExactCopy(of: bytes) { NetlinkMessage($0) != nil }
        return !isWrapped && DatagramReading(bytes, sequence: 0).status == (bytes.isEmpty ? 0 : -EBADMSG)
    }

    private func header(length: UInt32, total: Int) -> [UInt8] {
        Array((MessageBytes.bytes(of: length) + Array(repeating: 0, count: max(total, 4))).prefix(total))
    }

    @Test(arguments: 0..<16) func `fewer bytes than a header hold no message`(count: Int) {
        #expect(isRefused(header(length: UInt32(count), total: count)))
        #expect(isRefused(header(length: 16, total: count)))
    }

    @Test(arguments: UInt32(0)...15) func `a length below that of a header is refused`(length: UInt32) {
        #expect(isRefused(header(length: length, total: 64)))
    }

    @Test(arguments: [UInt32(65), 66, 68, 0x7fff_ffff, 0x8000_0000, .max - 3, .max])
    func `a length beyond the bytes is refused`(length: UInt32) {
        #expect(isRefused(header(length: length, total: 64)))
    }

    @Test(arguments: UInt32(16)...64)
    func `a whole message is split off, with its padding but not beyond the end`(length: UInt32) {
        let padded = (Int(length) + 3) & ~3
        let twice = header(length: length, total: padded) + header(length: 16, total: 16)
        #expect(DatagramReading(twice, sequence: 0).lengths == [Int(length), 16])
        // The last message of a run may lack its padding.
        let last = DatagramReading(header(length: length, total: Int(length)), sequence: 0)
        #expect(last.lengths == [Int(length)] && last.status == 1)
    }

    @Test func `the fields of the header are returned`() {
        let bytes =
            MessageBytes.bytes(of: UInt32(16)) + MessageBytes.bytes(of: UInt16(24))
            + MessageBytes.bytes(of: UInt16(2)) + Array(repeating: 0, count: 8)
        withExactCopy(of: bytes) { area in
            let message = NetlinkMessage(area)
            #expect(message?.bytes.baseAddress == area.baseAddress)
            #expect(message?.type == 24 && message?.flags == 2)
        }
    }

    @Test func `a message wraps only whole bytes`() {
        #expect(NetlinkMessage(UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
        withExactCopy(of: header(length: 20, total: 19)) { #expect(NetlinkMessage($0) == nil) }
        withExactCopy(of: header(length: 20, total: 24)) { #expect(NetlinkMessage($0)?.bytes.count == 20) }
    }

    /// libnl counts in ints: all attributes of such a message were passed over once.
    @Test func `a message beyond two gibibytes is refused`() throws {
        let size = 0x8000_0040
        let area = try #require(
            mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        )
        try #require(area != MAP_FAILED, "no address space for 2 GiB")
        defer { munmap(area, size) }
        for type in [16, 20, 24, 28, 32, 104] as [UInt16] {
            area.storeBytes(of: UInt32(0x8000_0030), as: UInt32.self)
            area.storeBytes(of: type, toByteOffset: 4, as: UInt16.self)
            let results = parseWithEverything(UnsafeRawBufferPointer(start: area, count: size))
            #expect(results.allSatisfy { $0 == .malformed })
        }
    }
}
