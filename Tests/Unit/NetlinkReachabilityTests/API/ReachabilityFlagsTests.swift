// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability
import Testing

struct ReachabilityFlagsTests {
    /// Apple's constants as SCNetworkReachability.h numbers them.
    private static let apple: [(name: String, flag: ReachabilityFlags, bits: UInt32, letter: Character)] = [
        ("transientConnection", .transientConnection, 0x1, "t"),
        ("reachable", .reachable, 0x2, "R"),
        ("connectionRequired", .connectionRequired, 0x4, "c"),
        ("connectionOnTraffic", .connectionOnTraffic, 0x8, "C"),
        ("interventionRequired", .interventionRequired, 0x10, "i"),
        ("connectionOnDemand", .connectionOnDemand, 0x20, "D"),
        ("isLocalAddress", .isLocalAddress, 0x1_0000, "l"),
        ("isDirect", .isDirect, 0x2_0000, "d"),
        ("isWWAN", .isWWAN, 0x4_0000, "W"),
    ]

    /// Every subset of the nine flags.
    private static let subsets: [ReachabilityFlags] = (0..<512).map { choice in
        var flags: ReachabilityFlags = []
        for (place, row) in apple.enumerated() where choice >> place & 1 == 1 { flags.insert(row.flag) }
        return flags
    }

    @Test(arguments: apple.indices) func `raw bits are Apple's`(row: Int) {
        #expect(Self.apple[row].flag.rawValue == Self.apple[row].bits)
    }

    @Test func `names are those of the flags in bit order`() {
        for flags in Self.subsets {
            #expect(flags.names == Self.apple.filter { flags.contains($0.flag) }.map(\.name))
        }
    }

    @Test func `the description is the names in brackets`() {
        #expect(ReachabilityFlags().description == "[]")
        #expect(ReachabilityFlags.reachable.description == "[reachable]")
        #expect(direct.description == "[reachable, isDirect]")
    }

    @Test func `letters are ten characters, with a dash for an absent flag`() {
        let order = Array("WR ctiCDld")
        for flags in Self.subsets {
            let expected = order.map { letter -> Character in
                guard let row = Self.apple.first(where: { $0.letter == letter }) else { return " " }
                return flags.contains(row.flag) ? letter : "-"
            }
            #expect(flags.letters == String(expected))
        }
    }

    @Test(
        arguments: [
            (ReachabilityFlags.reachable, "-R -------"),
            ([.reachable, .isLocalAddress, .isDirect], "-R -----ld"),
            ([], "-- -------"),
            ([.reachable, .isWWAN, .transientConnection], "WR -t-----"),
        ] as [(ReachabilityFlags, String)]
    )
    func `letters read as the rules write them`(flags: ReachabilityFlags, letters: String) {
        #expect(flags.letters == letters)
    }

    @Test(arguments: [UInt32(0x40), 0x80, 0x8000, 0x8_0000, 0x8000_0000, 0x80f8_ffc0])
    func `bits without a name are shown once, as one number`(bits: UInt32) {
        let unnamed = bits & ~0x7_003f
        let flags = ReachabilityFlags(rawValue: bits | 0x2)
        let number = "0x" + String(unnamed, radix: 16)
        #expect(flags.rawValue == bits | 0x2)
        #expect(flags.names.last == number)
        #expect(flags.names.count == 2)
        #expect(flags.letters == "-R ------- " + number)
        #expect(flags.description == "[reachable, \(number)]")
    }

    @Test func `no text loses a bit`() throws {
        for bit in 0..<32 {
            let flags = ReachabilityFlags(rawValue: 1 << UInt32(bit))
            #expect(flags.names.count == 1)
            #expect(flags.letters.contains { $0 != "-" && $0 != " " })
        }
    }

    @Test(arguments: [UInt32(0), 0x2, 0x7_003f, 0xffff_ffff]) func `coding keeps every bit as a bare number`(
        bits: UInt32
    ) throws {
        let flags = [ReachabilityFlags(rawValue: bits)]
        let coded = try JSONEncoder().encode(flags)
        #expect(String(decoding: coded, as: UTF8.self) == "[\(bits)]")
        #expect(try JSONDecoder().decode([ReachabilityFlags].self, from: coded) == flags)
    }

    @Test(arguments: ["[\"R\"]", "[-1]", "[4294967296]", "[null]"])
    func `decoding refuses what is not a 32-bit number`(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ReachabilityFlags].self, from: Data(text.utf8))
        }
    }
}
