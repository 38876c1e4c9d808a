// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Attributes with false lengths, at every level.
struct LyingAttributeTests {
    private typealias Bytes = MessageBytes

    private static let kinds: [MessageBytes] = [
        .link(), .address(), .route(), .rule(), .nexthop(), .neighbour(),
    ]

    /// Whether the parser of the message's own type refuses it; the others only must not read beyond it.
    private func isRefused(_ message: MessageBytes) -> Bool {
        let results = withExactCopy(of: message.bytes) { parseWithEverything($0) }
        let own: [UInt8: Int] = [16: 0, 20: 1, 24: 2, 32: 3, 104: 4, 28: 5]
        return own[message.bytes[4]].map { results[$0] == .malformed } ?? false
    }

    @Test(arguments: 0...3) func `a length below an attribute's header is malformed`(length: Int) {
        for kind in Self.kinds {
            #expect(isRefused(kind.adding(1, [1, 2, 3, 4], length: length)))
            #expect(isRefused(kind.adding(0x3fff, [1, 2, 3, 4], length: length)), "also of an unknown one")
        }
    }

    @Test(arguments: [9, 10, 12, 255, 4_096, 0x7fff, 0x8000, 0xffff])
    func `a length beyond the message is malformed`(length: Int) {
        for kind in Self.kinds {
            #expect(isRefused(kind.adding(1, [1, 2, 3, 4], length: length)))
            #expect(isRefused(kind.adding(0x3fff, [1, 2, 3, 4], length: length)), "also of an unknown one")
        }
    }

    @Test(arguments: 1...3) func `a rest too small for a header is malformed`(count: Int) {
        for kind in Self.kinds {
            #expect(isRefused(kind.adding(Array(repeating: 0, count: count))))
            #expect(isRefused(kind.adding(0x3fff, []).adding(Array(repeating: 0, count: count))))
        }
    }

    @Test func `the last attribute may lack its padding`() {
        let message = Bytes.link().adding(3, Array("abcde\0".utf8), isPadded: false)
        guard case .change(.link(let link)) = message.content else {
            Issue.record("\(message.content)")
            return
        }
        #expect(link.link.name == "abcde")
    }

    @Test(arguments: [UInt16(200), 0x1fff, 0x3fff, 0x8fff, 0xffff, 0]) func `unknown attributes are skipped`(
        type: UInt16
    ) {
        let junk = Bytes.attribute(type, Array(repeating: 0xee, count: 13))
        let contents = [
            Bytes.link().adding(junk).content,
            Bytes.address().adding(junk).adding(2, [192, 0, 2, 1]).content,
            Bytes.route().adding(junk).content, Bytes.rule().adding(junk).content,
        ]
        #expect(!contents.contains(.malformed) && !contents.contains(.ignored))
    }

    @Test func `the last of two equal attributes counts`() {
        let message = Bytes.link().adding(3, Array("first".utf8)).adding(3, Array("second".utf8))
        guard case .change(.link(let link)) = message.content else {
            Issue.record("another message was parsed")
            return
        }
        #expect(link.link.name == "second")
    }

    @Test(
        arguments: [
            MessageBytes.link().adding(16, []), .link().adding(33, []), .link().adding(5, [1, 2, 3]),
            .link().adding(10, [1, 2, 3]), .link().adding(27, [1]), .address().adding(8, [1, 2, 3]),
            .rule().adding(6, [1, 2, 3]), .rule().adding(15, [1, 2, 3]),
            .rule().adding(10, [1]), .rule().adding(20, Array(repeating: 0, count: 7)),
            .rule().adding(19, []),
            .rule().adding(22, []), .rule().adding(23, [1, 2, 3]), .rule().adding(24, [1, 2, 3]),
            .rule().adding(12, Array(repeating: 0, count: 7)), .rule().adding(14, [1, 2, 3]),
            .rule().adding(25, []),
        ]
    )
    func `numbers that are too short are malformed`(message: MessageBytes) {
        #expect(message.content == .malformed)
    }

    @Test(arguments: [0, 3, 5, 8, 15, 16, 17]) func `addresses of the wrong length are malformed`(count: Int)
    {
        let value = [UInt8](repeating: 1, count: count)
        for type in [1, 2] as [UInt16] {
            #expect(Bytes.address().adding(type, value).content == .malformed)
        }
        for type in [1, 2, 5, 7] as [UInt16] {
            #expect(Bytes.route().adding(type, value).content == .malformed)
        }
        for type in [1, 2] as [UInt16] { #expect(Bytes.rule().adding(type, value).content == .malformed) }
        #expect(Bytes.neighbour().adding(1, value).content == .malformed)
        #expect(Bytes.nexthop().adding(6, value).content == .malformed)
    }

    @Test(arguments: [(UInt8(2), UInt8(33)), (10, 129), (2, 255)])
    func `prefix lengths above that of the family are malformed`(family: UInt8, length: UInt8) {
        #expect(Bytes.address(family: family, prefix: length).content == .malformed)
        #expect(Bytes.route(family: family, prefix: length).content == .malformed)
        for place in [1, 2] {
            var fixed: [UInt8] = [family, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0]
            fixed[place] = length
            #expect(MessageBytes(type: 32, fixed: fixed).content == .malformed)
            #expect(MessageBytes(type: 24, fixed: fixed).content == .malformed)
        }
    }

    // MARK: Nests

    @Test(
        arguments: [
            MessageBytes.attribute(1, Array("vlan".utf8), length: 3),
            MessageBytes.attribute(1, Array("vlan".utf8), length: 9),
            MessageBytes.attribute(1, Array("vlan".utf8), length: 0xffff), [1], [1, 2, 3],
            MessageBytes.attribute(1, Array(repeating: 0x61, count: 56)),
            MessageBytes.attribute(4, Array(repeating: 0x61, count: 56)),
        ]
    )
    func `a nested attribute with a false length is malformed`(nest: [UInt8]) {
        #expect(Bytes.link().adding(18, nest).content == .malformed)
    }

    @Test func `a wrong table of a VRF is malformed`() {
        func vrf(_ data: [UInt8]) -> NetlinkMessage.Content {
            Bytes.link().adding(18, Bytes.attribute(1, Array("vrf\0".utf8)) + Bytes.attribute(2, data))
                .content
        }
        #expect(vrf(Bytes.attribute(1, [9, 0, 0, 0], length: 12)) == .malformed)
        guard case .change(.link(let short)) = vrf(Bytes.attribute(1, [9])) else {
            Issue.record("another message was parsed")
            return
        }
        #expect(short.link.vrfTable == nil)
        guard case .change(.link(let whole)) = vrf(Bytes.attribute(1, [9, 0, 0, 0])) else {
            Issue.record("another message was parsed")
            return
        }
        #expect(whole.link.vrfTable == 9)
    }

    @Test func `wrong settings are malformed, and short ones unknown`() {
        func settings(_ family: UInt16, _ values: [UInt8], length: Int? = nil) -> NetlinkMessage.Content {
            let array = Bytes.attribute(1, values, length: length)
            return Bytes.link().adding(26, Bytes.attribute(family, array)).content
        }
        for family in [2, 10] as [UInt16] {
            #expect(settings(family, [1, 2, 3, 4], length: 64) == .malformed)
            #expect(settings(family, [1, 2, 3, 4], length: 2) == .malformed)
            guard case .change(.link(let short)) = settings(family, [1, 0, 0, 0]) else {
                Issue.record("another message was parsed")
                return
            }
            var expected = RoutingSettings()
            // The first number of IPv4 is that it forwards; a kernel without the setting forwards no broadcasts.
            if family == 2 {
                (expected.ipv4Forwards, expected.forwardsBroadcasts) = (true, false)
            }
            #expect(short.link.settings == expected)
        }
    }

    // MARK: Nexthops

    private func multipath(_ nexthops: [UInt8]) -> NetlinkMessage.Content {
        Bytes.route().adding(9, nexthops).content
    }

    private func nexthop(length: UInt16, index: UInt32 = 7, hops: UInt8 = 0, _ attributes: [UInt8] = [])
        -> [UInt8]
    {
        Bytes.bytes(of: length) + [0, hops] + Bytes.bytes(of: index) + attributes
    }

    @Test(arguments: [UInt16(0), 1, 7, 9, 16, 0x7fff, 0xffff])
    func `a nexthop with a false length is malformed`(length: UInt16) {
        #expect(multipath(nexthop(length: length)) == .malformed)
        #expect(multipath(nexthop(length: 8) + nexthop(length: length)) == .malformed)
    }

    @Test(arguments: 1...7) func `a rest too small for a nexthop is malformed`(count: Int) {
        #expect(multipath(nexthop(length: 8) + Array(repeating: 0, count: count)) == .malformed)
    }

    @Test(
        arguments: [
            MessageBytes.attribute(5, [192, 0, 2, 1], length: 12), MessageBytes.attribute(5, [192, 0, 2]),
            MessageBytes.attribute(18, [2]), MessageBytes.attribute(18, [2, 0, 192, 0, 2]),
            MessageBytes.attribute(18, [10, 0, 1, 2, 3, 4]),
            MessageBytes.attribute(18, [99, 0, 192, 0, 2, 1]),
            MessageBytes.attribute(18, [2, 1, 192, 0, 2, 1]),
        ]
    )
    func `a nexthop's gateway with a false length or family is malformed`(attribute: [UInt8]) {
        #expect(multipath(nexthop(length: UInt16(8 + attribute.count), attribute)) == .malformed)
    }

    @Test func `nexthops are parsed`() {
        let gateway = Bytes.attribute(5, [192, 0, 2, 1])
        let via = Bytes.attribute(18, [10, 0, 0xfe, 0x80] + Array(repeating: 0, count: 13) + [1])
        let unknown = Bytes.attribute(99, [1, 2, 3])
        let bytes =
            nexthop(length: 16, index: 2, hops: 255, gateway)
            + nexthop(length: UInt16(8 + via.count), index: 3, via)
            + nexthop(length: UInt16(8 + unknown.count), index: 4, unknown)
        guard case .change(.route(let route, _)) = multipath(bytes) else {
            Issue.record("another message was parsed")
            return
        }
        #expect(
            route.nexthops == [
                Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1), weight: 256),
                Nexthop(interfaceIndex: 3, gateway: IPAddress("fe80::1")), Nexthop(interfaceIndex: 4),
            ]
        )
    }

    @Test func `an empty list of nexthops means no nexthops`() {
        guard case .change(.route(let route, _)) = multipath([]) else {
            Issue.record("another message was parsed")
            return
        }
        #expect(route.nexthops.isEmpty)
    }

    // MARK: Groups

    @Test(arguments: [1, 4, 7, 9, 15]) func `a group with part of a member is malformed`(count: Int) {
        let message = Bytes.nexthop().adding(2, Array(repeating: 1, count: count))
        #expect(message.content == .malformed)
    }
}
