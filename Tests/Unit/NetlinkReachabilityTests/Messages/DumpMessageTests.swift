// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import Testing

@testable import NetlinkReachability

/// What ends a dump, also that of nl80211, whose errors and interruptions were once ignored.
struct DumpMessageTests {
    private static let done: UInt16 = 3
    private static let error: UInt16 = 2
    private static let noop: UInt16 = 1

    /// A message of the dump, which has the sequence number 7 and the port 0.
    private func message(_ type: UInt16, flags: UInt16 = 0, _ fixed: [UInt8] = [0, 0, 0, 0]) -> [UInt8] {
        MessageBytes(type: type, flags: flags, fixed: fixed).bytes
    }

    /// NLMSG_ERROR with an errno and the header of the request.
    private func refusal(_ number: Int32) -> [UInt8] {
        message(Self.error, MessageBytes.bytes(of: -number) + Array(repeating: 0, count: 16))
    }

    private func read(_ datagram: [UInt8]) -> DatagramReading {
        DatagramReading(datagram, sequence: 7)
    }

    @Test func `messages are handed over up to NLMSG_DONE`() {
        let first = read(message(24) + message(25))
        #expect(first.types == [24, 25] && !first.hasEnded && first.status == 2)
        let last = read(message(26) + message(Self.done) + message(27))
        #expect(last.types == [26] && last.hasEnded && last.status == 2 && last.refusal == 0)
    }

    @Test func `the errno of NLMSG_DONE refuses the dump`() {
        let reading = read(message(24) + message(Self.done, MessageBytes.bytes(of: -EMSGSIZE)))
        #expect(reading.hasEnded && reading.status == 2 && reading.refusal == EMSGSIZE)
    }

    @Test func `an interruption in any message is noted`() {
        #expect(read(message(24, flags: UInt16(NLM_F_DUMP_INTR))).isInterrupted)
        #expect(read(message(Self.done, flags: UInt16(NLM_F_DUMP_INTR))).isInterrupted)
        #expect(!read(message(24, flags: UInt16(NLM_F_MULTI))).isInterrupted)
    }

    @Test func `NLMSG_ERROR refuses with its errno, and acknowledges with 0`() {
        let refused = read(refusal(ENOENT))
        #expect(refused.hasEnded && refused.status == 1 && refused.refusal == ENOENT)
        let acknowledged = read(message(16) + refusal(0))
        #expect(acknowledged.types == [16])
        #expect(acknowledged.hasEnded && acknowledged.refusal == 0)
    }

    @Test func `messages of another request are skipped`() {
        var late = message(24)
        late.replaceSubrange(8..<12, with: MessageBytes.bytes(of: UInt32(6)))
        var foreign = message(Self.done)
        foreign.replaceSubrange(12..<16, with: MessageBytes.bytes(of: UInt32(99)))
        let reading = read(late + foreign + message(Self.noop) + message(25))
        #expect(reading.types == [25] && !reading.hasEnded)
    }

    @Test func `a cut message ends the dump with a failure`() {
        let reading = read(message(24) + message(25).dropLast(2))
        #expect(reading.types == [24] && reading.status == -EBADMSG)
    }

    @Test(arguments: [2, 3] as [UInt16]) func `a cut status ends the dump with a failure`(type: UInt16) {
        #expect(read(message(24) + message(type, [0, 0, 0])).status == -EBADMSG)
    }
}
