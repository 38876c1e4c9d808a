// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import NetlinkRoute
import Testing

struct MessageFirstTests {
    /// Cuts the first message out of exactly these bytes: its length and the step to the next one.
    private func first(_ bytes: [UInt8]) -> (step: Int, length: UInt32) {
        withExactCopy(of: bytes) { area in
            guard let base = area.baseAddress else { return (0, 0) }
            var message = cnl_message(bytes: base, length: 0, type: 0, flags: 0, sequence: 0, port: 0)
            let step = cnl_message_first(base, area.count, &message)
            return (step, message.length)
        }
    }

    private func header(length: UInt32, total: Int) -> [UInt8] {
        Array((MessageBytes.bytes(of: length) + Array(repeating: 0, count: max(total, 4))).prefix(total))
    }

    @Test(arguments: 0..<16) func `fewer bytes than a header hold no message`(count: Int) {
        #expect(first(header(length: UInt32(count), total: count)).step == 0)
        #expect(first(header(length: 16, total: count)).step == 0)
    }

    @Test(arguments: UInt32(0)...15) func `a length below that of a header is refused`(length: UInt32) {
        #expect(first(header(length: length, total: 64)).step == 0)
    }

    @Test(arguments: [UInt32(65), 66, 68, 0x7fff_ffff, 0x8000_0000, .max - 3, .max])
    func `a length beyond the bytes is refused`(length: UInt32) {
        #expect(first(header(length: length, total: 64)).step == 0)
    }

    @Test(arguments: UInt32(16)...64)
    func `a whole message is split off, with its padding but not beyond the end`(length: UInt32) {
        let padded = (Int(length) + 3) & ~3
        #expect(first(header(length: length, total: 64)) == (padded, length))
        // The last message of a run may lack its padding.
        #expect(first(header(length: length, total: Int(length))) == (Int(length), length))
    }

    @Test func `the fields of the header are returned`() {
        let bytes =
            MessageBytes.bytes(of: UInt32(16)) + MessageBytes.bytes(of: UInt16(24))
            + MessageBytes.bytes(of: UInt16(2)) + MessageBytes.bytes(of: UInt32(77))
            + MessageBytes.bytes(of: UInt32(99))
        withExactCopy(of: bytes) { area in
            guard let base = area.baseAddress else { return }
            var message = cnl_message(bytes: base, length: 0, type: 0, flags: 0, sequence: 0, port: 0)
            #expect(cnl_message_first(base, area.count, &message) == 16)
            #expect(message.bytes == base)
            #expect((message.type, message.flags) == (24, 2))
            #expect((message.sequence, message.port) == (77, 99))
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
            #expect(results.allSatisfy { $0 == -EBADMSG })
        }
    }
}
