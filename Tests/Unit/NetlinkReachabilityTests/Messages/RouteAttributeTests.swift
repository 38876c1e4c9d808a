// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import CNetlinkShim
import Foundation
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The attributes of a route, from the bytes of a message to what every output shows.
struct RouteAttributeTests {
    /// An attribute of a message, and how it is shown.
    struct Example: Sendable {
        /// The number of the attribute: one of RTA_.
        let number: UInt16
        let bytes: [UInt8]
        let key: String
        let value: NetworkRoute.Attribute.Value
        let words: String

        init(
            _ number: rtattr_type_t,
            _ bytes: [UInt8],
            _ key: String,
            _ value: NetworkRoute.Attribute.Value,
            _ words: String
        ) {
            (self.number, self.bytes) = (UInt16(number.rawValue), bytes)
            (self.key, self.value, self.words) = (key, value, words)
        }
    }

    /// One for each property of `NetworkRoute` that an attribute of a message sets.
    private static let examples = [
        Example(RTA_TABLE, MessageBytes.bytes(of: UInt32(1_000)), "table", .number(1_000), "table 1000"),
        Example(RTA_PRIORITY, MessageBytes.bytes(of: UInt32(7)), "metric", .number(7), "metric 7"),
        Example(RTA_NH_ID, MessageBytes.bytes(of: UInt32(7)), "nexthopID", .number(7), "nexthop id 7"),
    ]

    private func content(_ number: UInt16, _ bytes: [UInt8]) -> NetlinkMessage.Content {
        MessageBytes.route()
            .adding(UInt16(RTA_OIF.rawValue), MessageBytes.bytes(of: UInt32(7)))
            .adding(number, bytes)
            .content
    }

    private func shown(_ example: Example) throws -> NetworkRoute {
        guard case .change(.route(let route, _)) = content(example.number, example.bytes) else {
            throw Unread()
        }
        return NetworkRoute(route) { _ in nil }
    }

    private struct Unread: Error {}

    @Test(arguments: examples) func `an attribute of a message is shown by its key and its words`(
        example: Example
    ) throws {
        let found = try shown(example).attributes.first { $0.key == example.key }
        #expect(found?.value == example.value)
        #expect(found?.words == example.words)
    }

    @Test(arguments: examples) func `an attribute of a message survives encoding`(example: Example) throws {
        let route = try shown(example)
        #expect(try JSONDecoder().decode(NetworkRoute.self, from: JSONEncoder().encode(route)) == route)
    }

    /// Also inside of an attribute that holds others, as RTA_METRICS does.
    @Test(arguments: examples) func `an attribute of a message is malformed where its bytes end early`(
        example: Example
    ) {
        for count in 1..<example.bytes.count {
            #expect(content(example.number, Array(example.bytes.prefix(count))) == .malformed, "\(count)")
        }
    }

    /// The type is in the fixed part of a message.
    @Test func `every property is shown, and has an example`() throws {
        let route = NetworkRoute(Route(destination: .allV4)) { _ in nil }
        let properties = Mirror(reflecting: route).children.compactMap(\.label)
        let keys = route.attributes.map(\.key)
        #expect(Set(properties) == Set(keys + ["destination", "nexthops"]))
        #expect(Set(keys) == Set(Self.examples.map(\.key) + ["type"]))
    }

    /// Keys that an earlier version did not know are optional.
    @Test func `a route without its optional keys decodes`() throws {
        let text = #"{"destination":"192.0.2.0/24","type":"unicast","table":254,"metric":0,"nexthops":[]}"#
        let route = try JSONDecoder().decode(NetworkRoute.self, from: Data(text.utf8))
        #expect(route == NetworkRoute(Route(destination: "192.0.2.0/24")) { _ in nil })
    }

    /// Finds the attributes that are read by what they change.
    @Test func `an attribute that is read is malformed where it is too short`() {
        let plain = content(0, [])
        var read: Set<UInt16> = []
        for number in UInt16(1)..<64 {
            func content(_ length: Int) -> NetlinkMessage.Content {
                self.content(number, Array(repeating: 1, count: length))
            }
            let lengths = (1...64).filter { content($0) != plain && content($0) != .malformed }
            guard let whole = lengths.first else { continue }
            read.insert(number)
            #expect((0..<whole).allSatisfy { content($0) == .malformed }, "RTA \(number)")
        }
        let known = [
            RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_PREFSRC, RTA_CACHEINFO, RTA_TABLE, RTA_PREF,
            RTA_ENCAP_TYPE, RTA_NH_ID,
        ]
        #expect(read.isSuperset(of: known.map { UInt16($0.rawValue) }))
    }
}
