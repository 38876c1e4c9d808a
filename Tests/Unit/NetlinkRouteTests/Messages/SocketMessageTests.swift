// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import Testing

@testable import NetlinkRoute

/// Sockets that sock_diag lists.
struct SocketMessageTests {
    private func parse(_ message: MessageBytes) -> (status: Int32, socket: cnl_socket) {
        var socket = cnl_socket()
        let status = message.parse(&socket, cnl_parse_socket)
        return (status, socket)
    }

    @Test func `the ends, the interface, the user, the inode and the cookie are read`() {
        let (status, socket) = parse(.socket())
        #expect(status == 0)
        #expect((socket.local_port, socket.remote_port) == (40_000, 443))
        #expect((socket.local.0, socket.local.3, socket.remote.0, socket.remote.3) == (192, 2, 198, 7))
        #expect((socket.bound_interface, socket.uid, socket.inode) == (7, 1_000, 4_242))
        #expect((socket.cookie, socket.state) == (0x1_0000_0002, 1))
    }

    @Test func `the type of service, the traffic class and the mark are read, and other attributes skipped`()
    {
        let message = MessageBytes.socket().adding(5, [0x10]).adding(6, [0x20]).adding(15, [1, 2, 0, 0])
            .adding(8, [0]).adding(0x1fff, [1, 2, 3])
        let (status, socket) = parse(message)
        #expect(status == 0)
        #expect((socket.tos, socket.traffic_class, socket.mark) == (0x10, 0x20, 0x201))
        let without = parse(.socket()).socket
        #expect((without.tos, without.traffic_class, without.mark) == (0, 0, 0))
    }

    @Test func `a message that is cut at any byte is malformed`() {
        let bytes = MessageBytes.socket().adding(15, [1, 0, 0, 0]).bytes
        for count in 0..<bytes.count where count < 88 {
            var message = MessageBytes(type: 20, fixed: Array(bytes[16...].prefix(max(0, count - 16))))
            message.setLength(UInt32(count))
            #expect(parse(message).status == -EBADMSG, "\(count)")
        }
        #expect(parse(MessageBytes.socket().adding(15, [1, 0])).status == -EBADMSG, "a mark of two bytes")
    }

    @Test func `messages of other types and families are left out`() {
        #expect(parse(.socket(family: 1)).status == -ENOMSG)
        #expect(
            parse(MessageBytes(type: 21, fixed: Array(MessageBytes.socket().bytes[16...]))).status == -ENOMSG)
    }
}
