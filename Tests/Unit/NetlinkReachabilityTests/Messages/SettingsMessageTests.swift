// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

/// RTM_NEWNETCONF.
struct SettingsMessageTests {
    /// A message of a family, with numbers by their attribute.
    private static func message(_ family: UInt8, type: UInt8 = 80, _ numbers: [(UInt8, Int32)]) -> [UInt8] {
        var attributes: [UInt8] = []
        for (attribute, number) in numbers {
            attributes += [8, 0, attribute, 0] + withUnsafeBytes(of: number, Array.init)
        }
        let header = [UInt8(20 + attributes.count), 0, 0, 0, type, 0, 2, 0] + [UInt8](repeating: 0, count: 8)
        return header + [family, 0, 0, 0] + attributes
    }

    private static func content(_ bytes: [UInt8]) -> NetlinkMessage.Content? {
        bytes.withUnsafeBytes { NetlinkMessage($0)?.content }
    }

    @Test func `a message has the settings of an interface, of all, or of future ones`() {
        let places: [(Int32, SettingsReport.Place)] = [(7, .interface(7)), (-1, .all), (-2, .newInterfaces)]
        for (index, place) in places {
            let bytes = Self.message(10, [(1, index), (2, 1), (3, 0), (6, 0)])
            // The reverse path filter is one of IPv4 alone.
            let settings = SettingsReport(place) {
                ($0.ipv6IgnoresLinkdown, $0.ipv6Forwards) = (false, true)
            }
            #expect(Self.content(bytes) == .change(.settings(settings)))
        }
    }

    @Test func `settings that a message lacks are nil`() {
        let ignoring = SettingsReport(.all) { $0.ipv4IgnoresLinkdown = true }
        #expect(Self.content(Self.message(2, [(1, -1), (6, 1)])) == .change(.settings(ignoring)))
        let filtering = SettingsReport(.all) { $0.reversePathFilter = 2 }
        #expect(Self.content(Self.message(2, [(1, -1), (3, 2)])) == .change(.settings(filtering)))
    }

    @Test func `other families, removals and messages without an interface are ignored`() {
        #expect(Self.content(Self.message(28, [(1, 7)])) == .ignored)
        #expect(Self.content(Self.message(2, type: 81, [(1, 7)])) == .ignored)
        #expect(Self.content(Self.message(2, [(6, 1)])) == .ignored)
    }

    @Test func `a cut number is malformed`() {
        var bytes = Self.message(2, [(1, -1), (6, 1)])
        bytes[28] = 6
        bytes[0] -= 2
        #expect(Self.content(Array(bytes.dropLast(2))) == .malformed)
    }
}
