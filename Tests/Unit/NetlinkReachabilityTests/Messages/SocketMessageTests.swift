// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// Sockets that sock_diag lists.
struct SocketMessageTests {
    /// `nil` for a message that is left out.
    private func parse(
        _ message: MessageBytes,
        _ ipProtocol: UInt16 = 6
    ) throws(MalformedMessage) -> ConnectedSocket? {
        let result = withExactCopy(of: message.bytes) { bytes in
            Result { () throws(MalformedMessage) in
                guard let message = NetlinkMessage(bytes) else { throw MalformedMessage() }
                return try ConnectedSocket(message, ipProtocol)
            }
        }
        return try result.get()
    }

    @Test func `the ends, the interface, the user, the inode and the cookie are read`() throws {
        let socket = try #require(try parse(.socket()))
        let flow = socket.flow
        #expect((flow.localPort, flow.remotePort) == (40_000, 443))
        #expect(flow.local == IPAddress(192, 0, 2, 2) && flow.remote == IPAddress(198, 51, 100, 7))
        #expect((flow.boundInterface, flow.user, socket.inode) == (7, 1_000, 4_242))
        #expect(socket.cookie == 0x1_0000_0002)
    }

    @Test func `the type of service, the traffic class and the mark are read, and other attributes skipped`()
        throws
    {
        let attributes =
            MessageBytes.attribute(5, [0x10]) + MessageBytes.attribute(6, [0x20])
            + MessageBytes.attribute(15, [1, 2, 0, 0]) + MessageBytes.attribute(8, [0])
            + MessageBytes.attribute(0x1fff, [1, 2, 3])
        let v4 = try #require(try parse(MessageBytes.socket().adding(attributes))).flow
        #expect((v4.typeOfService, v4.mark) == (0x10, 0x201))
        let v6 = try #require(try parse(MessageBytes.socket(family: 10).adding(attributes))).flow
        #expect(v6.typeOfService == 0x20)
        let without = try #require(try parse(.socket())).flow
        #expect((without.typeOfService, without.mark) == (0, 0))
    }

    /// `netflags sockets` evaluates the sockets of a flow together, and follows one until its flow changes.
    @Test func `what the kernel counts of a socket is not part of its flow`() throws {
        let counted = MessageBytes.attribute(2, [UInt8](repeating: 7, count: 104))
        let flow = try #require(try parse(.socket())).flow
        #expect(try parse(.socket().adding(counted))?.flow == flow)
        #expect(try parse(.socket().adding(15, [1, 0, 0, 0]))?.flow != flow)
    }

    @Test func `what the kernel counts of a TCP connection is read`() throws {
        let info = MessageBytes.tcpInfo(length: 248)
        var socket = try #require(try parse(.socket().adding(MessageBytes.attribute(2, info))))
        var expected = TCPProgress()
        (expected.retransmits, expected.probes, expected.backoff) = (0, 0, 4)
        (expected.timeout, expected.roundTrip, expected.unacknowledged) = (0, 0, 24)
        (expected.lastDataSent, expected.lastDataReceived, expected.lastAcknowledgement) = (44, 52, 56)
        (expected.totalRetransmits, expected.segmentsReceived) = (100, 140)
        (expected.unsent, expected.sendWindow) = (144, 228)
        #expect(socket.progress == expected)
        #expect((socket.state, socket.timer.kind) == (.established, .none))
        // An older kernel knows less.
        socket = try #require(
            try parse(.socket().adding(MessageBytes.attribute(2, Array(info.prefix(104))))))
        #expect(socket.progress?.totalRetransmits == 100 && socket.progress?.segmentsReceived == nil)
        #expect(try parse(.socket())?.progress == nil)
        #expect(
            try parse(.socket().adding(MessageBytes.attribute(2, Array(info.prefix(100)))))?.progress == nil)
    }

    @Test func `the probes and the confirmation of a neighbour are read, in ticks of 10 ms`() throws {
        func reply(_ attributes: [UInt8]) throws -> NeighbourReply? {
            let message = MessageBytes.neighbour().adding(
                MessageBytes.attribute(1, [192, 0, 2, 1]) + attributes)
            return try withExactCopy(of: message.bytes) { bytes in
                Result { () throws(MalformedMessage) in
                    guard let message = NetlinkMessage(bytes) else { throw MalformedMessage() }
                    return try NeighbourReply.read(message)?.value
                }
            }.get()
        }
        let times = MessageBytes.attribute(3, [30, 0, 0, 0] + [UInt8](repeating: 0, count: 12))
        let probes = MessageBytes.attribute(4, [5, 0, 0, 0])
        #expect(try reply(times + probes) == NeighbourReply(.reachable, confirmed: 300, probes: 5))
        #expect(try reply([]) == NeighbourReply(.reachable))
        #expect(throws: MalformedMessage.self) { try reply(MessageBytes.attribute(3, [1])) }
    }

    @Test func `a message that is cut at any byte is malformed`() {
        let bytes = MessageBytes.socket().adding(15, [1, 0, 0, 0]).bytes
        for count in 0..<bytes.count where count < 88 {
            var message = MessageBytes(type: 20, fixed: Array(bytes[16...].prefix(max(0, count - 16))))
            message.setLength(UInt32(count))
            #expect(throws: MalformedMessage.self, "\(count)") { try parse(message) }
        }
        #expect(throws: MalformedMessage.self, "a mark of two bytes") {
            try parse(MessageBytes.socket().adding(15, [1, 0]))
        }
    }

    @Test(
        arguments: [([], false), ([0x10, 0], false), ([0x20, 0], true), ([0x3F, 7], true)]
            as [([UInt8], Bool)])
    func `a socket is transparent if the kernel says so`(bits: [UInt8], isTransparent: Bool) throws {
        let message = bits.isEmpty ? MessageBytes.socket() : .socket().adding(22, bits)
        #expect(try parse(message)?.flow.isTransparent == isTransparent)
    }

    /// INET_DIAG_INFO with the beginning of an `mptcp_info`: three subflows, and the flags.
    private func multipathInfo(flags: UInt8) -> [UInt8] {
        MessageBytes.attribute(2, [3, 0, 0, 4, 0, 4, 0, 0, flags, 0, 0, 0, 0xF7, 0x2E, 0xB9, 0x0C])
    }

    @Test func `an MPTCP socket has its ends and its inode, with and without what the kernel knows of it`()
        throws
    {
        let mptcp = ConnectedSocket.mptcp
        let socket = try #require(try parse(.socket().adding(multipathInfo(flags: 2)), mptcp))
        #expect((socket.flow.ipProtocol, socket.inode, socket.flow.localPort) == (262, 4_242, 40_000))
        #expect(socket.token == 0x0CB9_2EF7)
        let plain = try #require(try parse(.socket(), mptcp))
        #expect((plain.flow, plain.inode, plain.token) == (socket.flow, 4_242, 0))
    }

    @Test func `a subflow has the token of its MPTCP socket`() throws {
        let token = MessageBytes.attribute(2, [0xF7, 0x2E, 0xB9, 0x0C])
        let remote = MessageBytes.attribute(1, [0, 0, 0, 0])
        let name = MessageBytes.attribute(1, Array("mptcp".utf8) + [0, 0, 0])
        let information = name + MessageBytes.attribute(3, remote + token)
        #expect(try parse(.socket().adding(19, information))?.token == 0x0CB9_2EF7)
        #expect(try parse(.socket())?.token == 0)
    }

    @Test func `an MPTCP socket that has fallen back to TCP is left out, and its TCP socket is not`() throws {
        let message = MessageBytes.socket().adding(multipathInfo(flags: 3))
        #expect(try parse(message, ConnectedSocket.mptcp) == nil)
        #expect(try parse(message)?.flow.ipProtocol == 6)
    }

    @Test func `an MPTCP socket whose flags are cut is malformed`() {
        #expect(throws: MalformedMessage.self) {
            try parse(
                MessageBytes.socket().adding(2, [3, 0, 0, 4, 0, 4, 0, 0, 1, 0, 0]), ConnectedSocket.mptcp)
        }
    }

    @Test func `messages of other types and families are left out`() throws {
        #expect(try parse(.socket(family: 1)) == nil)
        let fixed = Array(MessageBytes.socket().bytes[16...])
        #expect(try parse(MessageBytes(type: 21, fixed: fixed)) == nil)
    }
}
