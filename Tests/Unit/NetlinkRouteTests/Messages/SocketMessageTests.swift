// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkRoute

/// Sockets that sock_diag lists.
struct SocketMessageTests {
    /// `nil` for a message that is left out.
    private func parse(_ message: MessageBytes) throws(MalformedMessage) -> ConnectedSocket? {
        let result = withExactCopy(of: message.bytes) { bytes in
            Result { () throws(MalformedMessage) in
                guard let message = NetlinkMessage(bytes) else { throw MalformedMessage() }
                return try ConnectedSocket(message, 6)
            }
        }
        return try result.get()
    }

    @Test func `the ends, the interface, the user, the inode and the cookie are read`() throws {
        let socket = try #require(try parse(.socket()))
        #expect((socket.localPort, socket.remotePort) == (40_000, 443))
        #expect(socket.local == IPAddress(192, 0, 2, 2) && socket.remote == IPAddress(198, 51, 100, 7))
        #expect((socket.boundInterface, socket.user, socket.inode) == (7, 1_000, 4_242))
        #expect(socket.cookie == 0x1_0000_0002)
    }

    @Test func `the type of service, the traffic class and the mark are read, and other attributes skipped`()
        throws
    {
        let attributes =
            MessageBytes.attribute(5, [0x10]) + MessageBytes.attribute(6, [0x20])
            + MessageBytes.attribute(15, [1, 2, 0, 0]) + MessageBytes.attribute(8, [0])
            + MessageBytes.attribute(0x1fff, [1, 2, 3])
        let v4 = try #require(try parse(MessageBytes.socket().adding(attributes)))
        #expect((v4.typeOfService, v4.mark) == (0x10, 0x201))
        let v6 = try #require(try parse(MessageBytes.socket(family: 10).adding(attributes)))
        #expect(v6.typeOfService == 0x20)
        let without = try #require(try parse(.socket()))
        #expect((without.typeOfService, without.mark) == (0, 0))
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

    @Test func `messages of other types and families are left out`() throws {
        #expect(try parse(.socket(family: 1)) == nil)
        let fixed = Array(MessageBytes.socket().bytes[16...])
        #expect(try parse(MessageBytes(type: 21, fixed: fixed)) == nil)
    }
}
