// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import RoutingModel

/// The lookup without branches, compared with the walk.
struct QuickMatchTests {
    /// A table with the most slots, regardless of its contents.
    private static func trie(_ prefixes: Int, _ generator: inout SeededGenerator) -> PrefixTrie {
        var trie = PrefixTrie(rootBits: PrefixTrie.largestRoot, room: PrefixTrie.roomForOneChange)
        let lengths = [8, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 24, 25, 28, 31, 32]
        for number in 0..<prefixes {
            let key = Self.address(&generator)
            let length = generator.pick(lengths)
            _ = trie.insertKeepingRoot(
                UInt32(number), UInt32.max << (32 - length) & key, length)
        }
        return trie
    }

    /// Mostly in two corners, where prefixes lie in and below each other.
    private static func address(_ generator: inout SeededGenerator) -> UInt32 {
        let any = UInt32.random(in: 0...(.max), using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1: return 0x0a00_0000 | any & 0x1_ffff
        case 2, 3: return 0xc0a8_0100 | any & 0xff
        default: return any
        }
    }

    @Test(arguments: [0, 1, 30, 4_000])
    func `a quick match is the match of the walk`(prefixes: Int) {
        var generator = SeededGenerator(seed: UInt64(prefixes) + 3)
        let trie = Self.trie(prefixes, &generator)
        let keys = (0..<20_000).map { _ in Self.address(&generator) }
        var (quick, differing) = (0, 0)
        for key in keys {
            guard let match = trie.quickIPv4Match(key) else { continue }
            let walked = trie.longestMatch(key.addressBits)
            quick += 1
            if match.isThere != (walked != nil) || match.value != walked?.value ?? match.value {
                differing += 1
            }
        }
        #expect(differing == 0)
        // With enough prefixes some keys are left to the walk.
        #expect(quick > 0 && (quick < keys.count || prefixes < 30))
    }

    @Test func `a table of fewer slots leaves everything to the walk`() {
        var trie = PrefixTrie(rootBits: 12, room: PrefixTrie.roomForOneChange)
        _ = trie.insertKeepingRoot(7, 0x0a00_0000, 8)
        #expect(trie.quickIPv4Match(0x0a00_0001) == nil)
        #expect(trie.longestMatch(UInt32(0x0a00_0001).addressBits)?.value == 7)
    }
}

extension PrefixTrie {
    fileprivate mutating func insertKeepingRoot(_ value: UInt32, _ key: UInt32, _ length: Int) -> UInt32? {
        insertKeepingRoot(value, key.addressBits, length: length)
    }
}
