// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim

@testable import NetlinkReachability

/// What the shim reads out of one datagram of a dump.
struct DatagramReading {
    /// How many messages were taken, or a negative errno.
    private(set) var status: Int32 = 0
    /// The errno with which the kernel ended the dump; 0 for success.
    private(set) var refusal: Int32 = 0
    private(set) var types: [UInt16] = []
    private(set) var lengths: [Int] = []
    private(set) var isInterrupted = false
    private(set) var hasEnded = false

    /// Reads a datagram as a part of the answer to a request with a sequence number and the port 0.
    init(_ datagram: [UInt8], sequence: UInt32) {
        var messages: [(type: UInt16, length: UInt32)] = []
        withUnsafeMutablePointer(to: &messages) { messages in
            var request = cnl_request(
                exchange: cnl_exchange(
                    first: sequence, port: 0, is_dump: true, unanswered: 1, awaited: 1, build: nil,
                    take: cnl_request_take),
                handler: { message, context in
                    context?.assumingMemoryBound(to: [(type: UInt16, length: UInt32)].self).pointee
                        .append((message.pointee.nlmsg_type, message.pointee.nlmsg_len))
                },
                context: messages, is_interrupted: false, status: cnl_error())
            withExactCopy(of: datagram) { area in
                guard let base = area.baseAddress else { return }
                // The exchange is the first field, as C has it.
                status = withUnsafeMutableBytes(of: &request) { bytes in
                    bytes.assumingMemoryBound(to: cnl_exchange.self).baseAddress
                        .map { cnl_exchange_read($0, base, area.count) } ?? 0
                }
            }
            refusal = request.status.number
            (isInterrupted, hasEnded) = (request.is_interrupted, request.exchange.unanswered == 0)
        }
        types = messages.map(\.type)
        lengths = messages.map { Int($0.length) }
    }
}
