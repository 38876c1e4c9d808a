// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// RTA_ENCAP of each kind, whole and cut.
struct EncapsulationAttributeTests {
    private static let outer = IPAddress(v6High: 0x2001_0db8_0005 << 16, low: 9)
    private static let other = IPAddress(v6High: 0x2001_0db8_0006 << 16, low: 9)

    /// SEG6_IPTUNNEL_SRH: a mode, and a routing header with segments of which the last is the first of the list.
    private static func segments(_ list: IPAddress..., first: UInt8) -> [UInt8] {
        let header: [UInt8] = [0, UInt8(2 * list.count), 4, first, first, 0, 0, 0]
        return MessageBytes.attribute(1, [1, 0, 0, 0] + header + list.flatMap(\.networkBytes))
    }

    private static func destination(_ kind: Encapsulation.Kind, _ bytes: some Collection<UInt8>) -> IPAddress?
    {
        Array(bytes).withUnsafeBytes { Encapsulation(kind.rawValue, $0).destination }
    }

    @Test(
        arguments: [
            (.ip, MessageBytes.attribute(2, [192, 0, 2, 77]), "192.0.2.77"),
            (.ip, MessageBytes.attribute(1, Array(repeating: 7, count: 8)), nil),
            (.ip, MessageBytes.attribute(2, [0, 0, 0, 0]), nil),
            (.ip6, MessageBytes.attribute(2, outer.networkBytes), "2001:db8:5::9"),
            (.ip6, MessageBytes.attribute(2, IPAddress.anyV6.networkBytes), nil),
            (.ip6, MessageBytes.attribute(2, IPAddress(v6High: 0xfe80 << 48, low: 9).networkBytes), nil),
            (.seg6, segments(outer, first: 0), "2001:db8:5::9"),
            (.seg6, segments(other, outer, first: 1), "2001:db8:5::9"),
            (.seg6, segments(outer, other, first: 0), "2001:db8:5::9"),
            // The index lies behind the list.
            (.seg6, segments(outer, first: 1), nil),
            (.seg6, segments(outer, first: 255), nil),
            (.mpls, MessageBytes.attribute(1, [0, 6, 0x41, 0xff]), nil),
            (Encapsulation.Kind(rawValue: 6), MessageBytes.attribute(2, [192, 0, 2, 77]), nil),
        ] as [(Encapsulation.Kind, [UInt8], String?)])
    func `the destination of the outer packet is read where the attribute holds it`(
        kind: Encapsulation.Kind, bytes: [UInt8], destination: String?
    ) {
        #expect(Self.destination(kind, bytes)?.description == destination)
    }

    @Test(
        arguments: [
            (.ip, MessageBytes.attribute(2, [192, 0, 2, 77])),
            (.ip6, MessageBytes.attribute(2, outer.networkBytes)), (.seg6, segments(other, outer, first: 1)),
        ] as [(Encapsulation.Kind, [UInt8])])
    func `a cut attribute has no destination`(kind: Encapsulation.Kind, bytes: [UInt8]) {
        for length in 0..<bytes.count {
            #expect(Self.destination(kind, bytes.prefix(length)) == nil, "\(length) bytes")
            // The attribute says that it is as short as that.
            guard length >= 4 else { continue }
            let type = kind == .seg6 ? UInt16(1) : 2
            let short = MessageBytes.attribute(type, Array(bytes[4..<length]))
            #expect(Self.destination(kind, short) == nil, "\(length) bytes that are whole")
        }
    }
}
