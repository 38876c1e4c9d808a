// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel

@testable import NetlinkReachability

/// A netlink message that a test builds, with false lengths if it wants them.
struct MessageBytes {
    private(set) var bytes: [UInt8]

    /// Starts with a header and a fixed part.
    init(type: UInt16, flags: UInt16 = 0, fixed: [UInt8]) {
        bytes = Self.bytes(of: UInt32(0)) + Self.bytes(of: type) + Self.bytes(of: flags)
        bytes += Self.bytes(of: UInt32(7)) + Self.bytes(of: UInt32(0)) + fixed
        setLength(UInt32(bytes.count))
    }

    static func bytes(of value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    /// One attribute; `length` lies about its own length, header included.
    static func attribute(_ type: UInt16, _ value: [UInt8], length: Int? = nil, isPadded: Bool = true)
        -> [UInt8]
    {
        let length = length ?? value.count + 4
        let padding = isPadded ? (4 - value.count % 4) % 4 : 0
        return bytes(of: UInt16(truncatingIfNeeded: length)) + bytes(of: type) + value
            + Array(repeating: 0, count: padding)
    }

    mutating func setLength(_ length: UInt32) {
        bytes.replaceSubrange(0..<4, with: Self.bytes(of: length))
    }

    /// Appends and keeps the header's length true.
    func adding(_ more: [UInt8]) -> MessageBytes {
        var message = self
        message.bytes += more
        message.setLength(UInt32(message.bytes.count))
        return message
    }

    func adding(_ type: UInt16, _ value: [UInt8], length: Int? = nil, isPadded: Bool = true) -> MessageBytes {
        adding(Self.attribute(type, value, length: length, isPadded: isPadded))
    }

    // MARK: Kinds

    static func link(family: UInt8 = 0, hardware: UInt16 = 1, index: UInt32 = 7, flags: UInt32 = 0x1_1043)
        -> Self
    {
        MessageBytes(
            type: 16,
            fixed: [family, 0] + bytes(of: hardware) + bytes(of: index) + bytes(of: flags)
                + bytes(of: UInt32(0))
        )
    }

    static func address(family: UInt8 = 2, prefix: UInt8 = 24, flags: UInt8 = 0x80, index: UInt32 = 7) -> Self
    {
        MessageBytes(type: 20, fixed: [family, prefix, flags, 0] + bytes(of: index))
    }

    static func route(family: UInt8 = 2, prefix: UInt8 = 24, table: UInt8 = 254, type: UInt8 = 1) -> Self {
        MessageBytes(type: 24, fixed: [family, prefix, 0, 0, table, 3, 0, type] + bytes(of: UInt32(0)))
    }

    static func neighbour(family: UInt8 = 2) -> Self {
        MessageBytes(
            type: 28, fixed: [family, 0, 0, 0] + bytes(of: UInt32(7)) + bytes(of: UInt16(2)) + [0, 1])
    }

    static func rule(family: UInt8 = 2, action: UInt8 = 1, flags: UInt32 = 0) -> Self {
        MessageBytes(type: 32, fixed: [family, 0, 0, 0, 254, 0, 0, action] + bytes(of: flags))
    }

    static func nexthop(family: UInt8 = 2) -> Self {
        MessageBytes(type: 104, fixed: [family, 0, 0, 0] + bytes(of: UInt32(0)))
    }

    /// SOCK_DIAG_BY_FAMILY with an `inet_diag_msg`, of an established socket from 192.0.2.2:40000 to 198.51.100.7:443.
    static func socket(family: UInt8 = 2) -> Self {
        let ports: [UInt8] = [0x9c, 0x40, 1, 187]
        let source = [192, 0, 2, 2] + [UInt8](repeating: 0, count: 12)
        let destination = [198, 51, 100, 7] + [UInt8](repeating: 0, count: 12)
        let identity = ports + source + destination + bytes(of: UInt32(7)) + bytes(of: UInt64(0x1_0000_0002))
        let rest = [UInt8](repeating: 0, count: 12) + bytes(of: UInt32(1_000)) + bytes(of: UInt32(4_242))
        return MessageBytes(type: 20, fixed: [family, 1, 0, 0] + identity + rest)
    }

    /// A `tcp_info` of a length in which the four bytes at each multiple of four have their place as a number.
    static func tcpInfo(length: Int) -> [UInt8] {
        Array((0..<(length + 3) / 4).flatMap { bytes(of: UInt32($0 * 4)) }.prefix(length))
    }

    // MARK: Parsers

    var content: NetlinkMessage.Content {
        withExactCopy(of: bytes) { NetlinkMessage($0)?.content ?? .malformed }
    }
}

/// What a parser says of some bytes.
enum ParseResult {
    case parsed, ignored, malformed
}

/// Parses the bytes as a message of each type, walks the lists in the results, and returns what each parser says.
@discardableResult
func parseWithEverything(_ bytes: UnsafeRawBufferPointer) -> [ParseResult] {
    guard let message = NetlinkMessage(bytes) else { return [.malformed] }
    return [
        result { try LinkReport(message) }, result { try InterfaceAddress(message) },
        routeResult(message.bytes), result { try Rule(message) },
        result { try NexthopObject(message) }, result { try Neighbour(message) },
        result { try SettingsReport(message) }, result { try DeviceFacts.wirelessIndex(message) },
        result { try DeviceFacts.signal(message) }, result { try ConnectedSocket(message, 6) },
        result { try ConnectedSocket(message, ConnectedSocket.mptcp) },
    ]
}

private func result<Value>(_ parse: () throws -> Value?) -> ParseResult {
    do { return try parse() == nil ? .ignored : .parsed } catch { return .malformed }
}

/// Parses a message as a route and as a destination of one, and walks the nexthops.
private func routeResult(_ bytes: UnsafeRawBufferPointer) -> ParseResult {
    guard let base = bytes.baseAddress else { return .malformed }
    var (route, destination) = (cnl_route(), cnl_destination())
    _ = cnl_parse_destination(base, bytes.count, &destination)
    let status = cnl_parse_route(base, bytes.count, &route)
    guard status == 0 else { return status == -ENOMSG ? .ignored : .malformed }
    var (offset, nexthop) = (UInt32(0), cnl_nexthop())
    while case let result = cnl_route_next_nexthop(&route, &offset, &nexthop), result != 0 {
        if result < 0 { return .malformed }
    }
    return .parsed
}
