// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The dump of WG_CMD_GET_DEVICE, built by the numbers of `linux/wireguard.h`.
struct WireGuardMessagesTests {
    private static func key(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    /// WGPEER_A_ENDPOINT (4): 192.0.2.NUMBER, port 51820.
    private static func endpoint(_ number: UInt8) -> [UInt8] {
        MessageBytes.attribute(
            4,
            MessageBytes.bytes(of: UInt16(2)) + [0xCA, 0x6C, 192, 0, 2, number]
                + [UInt8](repeating: 0, count: 8))
    }

    /// An entry of WGPEER_A_ALLOWEDIPS, with its length, family and address.
    private static func allowed(_ family: UInt16, _ address: [UInt8], _ length: UInt8) -> [UInt8] {
        MessageBytes.attribute(
            0,
            MessageBytes.attribute(3, [length]) + MessageBytes.attribute(1, MessageBytes.bytes(of: family))
                + MessageBytes.attribute(2, address))
    }

    private static func peer(_ number: UInt8, _ endpoint: [UInt8], _ allowed: [UInt8]...) -> [UInt8] {
        MessageBytes.attribute(
            0,
            MessageBytes.attribute(1, key(number)) + endpoint
                + MessageBytes.attribute(9, allowed.flatMap(\.self)))
    }

    /// A message with WGDEVICE_A_PEERS (8); the first one of a dump has the port and the mark, too.
    private static func message(isFirst: Bool = true, _ peers: [UInt8]...) -> MessageBytes {
        var message = MessageBytes(type: 29, flags: 2, fixed: [0, 1, 0, 0])
        if isFirst {
            message = message.adding(6, MessageBytes.bytes(of: UInt16(41_000)))
                .adding(7, MessageBytes.bytes(of: UInt32(0xCA6C))).adding(3, key(0xEE))
        }
        return message.adding(8, peers.flatMap(\.self))
    }

    private func read(_ messages: [MessageBytes]) throws -> WireGuardMessages {
        var device = WireGuardMessages()
        for message in messages {
            try withExactCopy(of: message.bytes) { try device.add(try #require(NetlinkMessage($0))) }
        }
        return device
    }

    @Test func `the peer with the longest prefix has the packets`() throws {
        let device = try read([
            Self.message(
                Self.peer(1, Self.endpoint(1), Self.allowed(2, [0, 0, 0, 0], 0)),
                Self.peer(
                    2, Self.endpoint(2), Self.allowed(2, [10, 9, 0, 0], 16),
                    Self.allowed(2, [10, 9, 7, 7], 32)),
                Self.peer(3, Self.endpoint(3), Self.allowed(2, [10, 9, 7, 0], 24)))
        ])
        #expect(device.listenPort == 41_000)
        let peers = device.result
        for (destination, last) in [
            (IPAddress(10, 8, 0, 1), 1), (IPAddress(10, 9, 1, 1), 2), (IPAddress(10, 9, 7, 7), 2),
            (IPAddress(10, 9, 7, 8), 3),
        ] as [(IPAddress, UInt8)] {
            var expected = TunnelEnds()
            expected.remote = IPAddress(192, 0, 2, last)
            (expected.mark, expected.sourcePort, expected.destinationPort) = (0xCA6C, 41_000, 51_820)
            #expect(peers.route(to: destination) == .endpoint(expected))
        }
        #expect(peers.route(to: "2001:db8::1") == .noPeer)
    }

    @Test func `a peer without an endpoint has its packets all the same`() throws {
        let peers = try read([
            Self.message(
                Self.peer(1, Self.endpoint(1), Self.allowed(2, [0, 0, 0, 0], 0)),
                Self.peer(2, [], Self.allowed(2, [10, 9, 0, 0], 16)))
        ]).result
        #expect(peers.route(to: IPAddress(10, 9, 1, 1)) == .noEndpoint)
        #expect(peers.route(to: IPAddress(10, 8, 1, 1)).ends?.remote == IPAddress(192, 0, 2, 1))
    }

    /// The kernel continues a peer in the next message with its public key alone.
    @Test func `a peer that fills several messages keeps its endpoint`() throws {
        let peers = try read([
            Self.message(Self.peer(1, Self.endpoint(1), Self.allowed(2, [10, 1, 0, 0], 16))),
            Self.message(
                isFirst: false, Self.peer(1, [], Self.allowed(2, [10, 2, 0, 0], 16)),
                Self.peer(
                    2, Self.endpoint(2), Self.allowed(10, [0x20, 1] + [UInt8](repeating: 0, count: 14), 16))),
        ]).result
        #expect(peers.route(to: IPAddress(10, 2, 1, 1)).ends?.remote == IPAddress(192, 0, 2, 1))
        #expect(peers.route(to: IPAddress(10, 1, 1, 1)).ends?.remote == IPAddress(192, 0, 2, 1))
        #expect(peers.route(to: "2001:db8::1").ends?.remote == IPAddress(192, 0, 2, 2))
        #expect(peers.route(to: "2001:db8::1").ends?.mark == 0xCA6C)
    }

    @Test func `an IPv6 endpoint has the interface of its scope`() throws {
        // sockaddr_in6: family, port, flow label, fe80::9, scope 7.
        let address: [UInt8] = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [9]
        let endpoint = MessageBytes.attribute(
            4,
            MessageBytes.bytes(of: UInt16(10)) + [0xCA, 0x6C, 1, 2, 3, 4] + address
                + MessageBytes.bytes(of: UInt32(7)))
        let peers = try read([Self.message(Self.peer(1, endpoint, Self.allowed(2, [0, 0, 0, 0], 0)))]).result
        let ends = try #require(peers.route(to: IPAddress(10, 1, 1, 1)).ends)
        #expect(ends.remote == "fe80::9")
        #expect(ends.link == 7)
        #expect(ends.destinationPort == 51_820)
    }

    @Test func `a foreign family and an impossible length are left out`() throws {
        let foreign = MessageBytes.attribute(
            4, MessageBytes.bytes(of: UInt16(1)) + [UInt8](repeating: 0, count: 14))
        let peers = try read([
            Self.message(
                Self.peer(
                    1, foreign, Self.allowed(2, [10, 0, 0, 0], 33), Self.allowed(7, [1], 1),
                    Self.allowed(2, [10, 1, 0, 0], 16)))
        ]).result
        let other = try read([Self.message(Self.peer(1, [], Self.allowed(2, [10, 1, 0, 0], 16)))])
        #expect(peers == other.result)
    }

    @Test(arguments: [
        // A key of another size.
        MessageBytes.attribute(0, MessageBytes.attribute(1, [1, 2, 3])),
        // No key.
        MessageBytes.attribute(0, Self.endpoint(1)),
        // Socket addresses that are cut.
        Self.peer(1, MessageBytes.attribute(4, [2])), Self.peer(1, MessageBytes.attribute(4, [])),
        Self.peer(1, MessageBytes.attribute(4, [2, 0, 0xCA, 0x6C, 192, 0, 2])),
        Self.peer(1, MessageBytes.attribute(4, [10, 0] + [UInt8](repeating: 0, count: 25))),
        // An address of another size than its family's.
        Self.peer(1, [], Self.allowed(2, [10], 8)), Self.peer(1, [], Self.allowed(10, [1, 2, 3, 4], 8)),
        // Lengths that overrun the list, or are shorter than a header.
        MessageBytes.attribute(0, [], length: 400), MessageBytes.attribute(0, [], length: 3),
        MessageBytes.attribute(0, [], length: 0), [8],
        MessageBytes.attribute(
            0, MessageBytes.attribute(1, Self.key(1)) + MessageBytes.attribute(9, [1], length: 90)),
        Self.peer(1, [], MessageBytes.attribute(0, [], length: 65_535)),
    ]) func `a peer that lies about its lengths is malformed`(peer: [UInt8]) {
        #expect(throws: MalformedMessage.self) { try read([Self.message(peer)]) }
    }

    /// Each length in the message is replaced, also those of attributes within attributes.
    @Test func `no length makes the reader leave the message`() throws {
        let message = Self.message(
            Self.peer(
                1, Self.endpoint(1), Self.allowed(2, [10, 9, 0, 0], 16), Self.allowed(2, [10, 8, 0, 0], 16)))
        let whole = try read([message]).result
        var outcomes = (same: 0, other: 0, malformed: 0)
        for place in stride(from: 20, to: message.bytes.count - 1, by: 2) {
            for length in [0, 1, 3, 4, 5, 8, 60, 4_096, 0xFFFF] as [UInt16] {
                var bytes = message.bytes
                bytes.replaceSubrange(place..<(place + 2), with: MessageBytes.bytes(of: length))
                var device = WireGuardMessages()
                do {
                    try withExactCopy(of: bytes) { try device.add(try #require(NetlinkMessage($0))) }
                    if device.result == whole { outcomes.same += 1 } else { outcomes.other += 1 }
                } catch is MalformedMessage {
                    outcomes.malformed += 1
                }
            }
        }
        #expect(outcomes.same > 0 && outcomes.other > 0 && outcomes.malformed > 0, "\(outcomes)")
    }
}
