// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc

@testable import NetlinkReachability

/// A kernel whose answers a test writes, message by message.
final class FakeKernel {
    /// A request as it was sent.
    struct Request {
        let type: UInt16
        let sequence: UInt32
        let bytes: [UInt8]

        /// A message that answers the request; the port is that of the socket.
        func answer(_ message: MessageBytes, from port: UInt32 = FakeKernel.port) -> [UInt8] {
            var bytes = message.bytes
            bytes.replaceSubrange(8..<12, with: MessageBytes.bytes(of: sequence))
            bytes.replaceSubrange(12..<16, with: MessageBytes.bytes(of: port))
            return bytes
        }

        /// NLMSG_ERROR with an errno, and the kernel's text for it.
        func refusal(_ number: Int32, _ text: String? = nil) -> [UInt8] {
            let error = MessageBytes.bytes(of: 0 &- number) + bytes.prefix(16)
            let flags = UInt16(NLM_F_CAPPED) | (text == nil ? 0 : UInt16(NLM_F_ACK_TLVS))
            let message = MessageBytes(type: UInt16(NLMSG_ERROR), flags: flags, fixed: error)
            guard let text else { return answer(message) }
            return answer(message.adding(UInt16(NLMSGERR_ATTR_MSG.rawValue), Array(text.utf8) + [0]))
        }

        /// NLMSG_DONE, which ends a dump.
        var end: [UInt8] {
            answer(MessageBytes(type: UInt16(NLMSG_DONE), fixed: [0, 0, 0, 0]))
        }
    }

    /// What one read gives.
    enum Reading {
        /// A datagram of the kernel to the socket alone.
        case datagram([UInt8])
        /// A datagram to a group, as notifications are.
        case notification([UInt8])
        /// The read fails, with EAGAIN where nothing comes in time.
        case failure(Int32)
    }

    static let port: UInt32 = 4_711

    /// The requests of each datagram that was sent.
    private(set) var sent: [[Request]] = []
    /// Returns what the socket reads after a datagram was sent.
    private let respond: (_ requests: [Request], _ attempt: Int) -> [Reading]
    private let isStrict: Bool
    private var queue: [Reading] = []
    /// Where a socket received last, which is valid as long as the socket.
    private(set) var received = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The errno with which sending fails; 0 for none.
    var sendFailure: Int32 = 0

    init(isStrict: Bool = true, _ respond: @escaping (_ requests: [Request], _ attempt: Int) -> [Reading]) {
        self.isStrict = isStrict
        self.respond = respond
    }

    /// Calls the body with a socket of this kernel.
    func withSocket<Value>(_ body: (inout QuerySocket) throws -> Value) throws -> Value {
        try withExtendedLifetime(self) {
            let transport = cnl_transport(
                send: { context, bytes, size in
                    FakeKernel.of(context).send(UnsafeRawBufferPointer(start: bytes, count: size))
                },
                receive: { context, buffer, size, _, sender in
                    FakeKernel.of(context).receive(
                        UnsafeMutableRawBufferPointer(start: buffer, count: size), &sender.pointee)
                },
                context: Unmanaged.passUnretained(self).toOpaque(), port: Self.port, is_strict: isStrict)
            var socket = try QuerySocket(over: transport)
            return try body(&socket)
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> FakeKernel {
        guard let context else { preconditionFailure("the transport has no context") }
        return Unmanaged<FakeKernel>.fromOpaque(context).takeUnretainedValue()
    }

    private func send(_ datagram: UnsafeRawBufferPointer) -> Int32 {
        guard sendFailure == 0 else { return -sendFailure }
        var requests: [Request] = []
        var offset = 0
        while offset + 16 <= datagram.count {
            let length = Int(datagram.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            requests.append(
                Request(
                    type: datagram.loadUnaligned(fromByteOffset: offset + 4, as: UInt16.self),
                    sequence: datagram.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self),
                    bytes: Array(datagram[offset..<offset + length])))
            offset += (length + 3) & ~3
        }
        sent.append(requests)
        queue += respond(requests, sent.count)
        return 0
    }

    private func receive(_ buffer: UnsafeMutableRawBufferPointer, _ sender: inout sockaddr_nl) -> Int {
        received = UnsafeRawBufferPointer(buffer)
        sender = sockaddr_nl()
        sender.nl_family = UInt16(AF_NETLINK)
        guard !queue.isEmpty else { return Int(-EAGAIN) }
        switch queue.removeFirst() {
        case .datagram(let bytes): return Self.copy(bytes, buffer)
        case .notification(let bytes):
            sender.nl_groups = 1
            return Self.copy(bytes, buffer)
        case .failure(let number): return Int(-number)
        }
    }

    /// Copies what fits; returns the whole length, as MSG_TRUNC has it.
    private static func copy(_ bytes: [UInt8], _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        buffer.copyBytes(from: bytes.prefix(buffer.count))
        return bytes.count
    }
}
