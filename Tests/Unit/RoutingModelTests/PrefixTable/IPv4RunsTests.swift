// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import RoutingModel

/// The short way through a large IPv4 table, compared with the walk.
struct IPv4RunsTests {
    /// A trie with the most slots, regardless of its contents, and its runs.
    private struct Pair {
        var trie = PrefixTrie(rootBits: PrefixTrie.largestRoot, room: PrefixTrie.roomForOneChange)
        var runs: IPv4Runs
        private var generator: SeededGenerator
        private var prefixes: [(key: UInt32, length: Int)] = []
        private let values: UInt32

        init(_ count: Int, values: UInt32, seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            self.values = values
            runs = IPv4Runs(trie, minimumCount: 0)
            for _ in 0..<count { insert() }
            runs = IPv4Runs(trie, minimumCount: 0)
        }

        /// Adds a prefix, replaces its value or removes one, and lets the runs follow.
        mutating func change() {
            if Bool.random(using: &generator), !prefixes.isEmpty {
                let place = Int.random(in: 0..<prefixes.count, using: &generator)
                let (key, length) = prefixes.remove(at: place)
                _ = trie.removeKeepingRoot(key.addressBits, length: length)
                runs.follow(trie, key, length: length)
            } else {
                let (key, length) = insert()
                runs.follow(trie, key, length: length)
            }
        }

        @discardableResult
        private mutating func insert() -> (key: UInt32, length: Int) {
            let length = generator.pick([0, 8, 12, 15, 16, 17, 18, 20, 21, 22, 23, 24, 24, 24, 25, 28, 32])
            let key = address() & (length == 0 ? 0 : .max << (32 - UInt32(length)))
            let value = UInt32.random(in: 0..<values, using: &generator) &* 0x9e37_79b9
            _ = trie.insertKeepingRoot(value, key.addressBits, length: length)
            prefixes.append((key, length))
            return (key, length)
        }

        /// Mostly in two corners, where prefixes lie in and below each other.
        private mutating func address() -> UInt32 {
            let any = UInt32.random(in: 0...(.max), using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1: return 0x0a00_0000 | any & 0x1_ffff
            case 2, 3: return 0xc0a8_0100 | any & 0xfff
            default: return any
            }
        }

        /// Compares at random addresses and at the ends of prefixes; returns how many the runs decided, and how many
        /// of them wrongly.
        mutating func compare(_ count: Int) -> (decided: Int, wrong: Int) {
            var keys = (0..<count).map { _ in address() }
            for (key, length) in prefixes.suffix(count) {
                let last = key | (length == 32 ? 0 : .max >> UInt32(length))
                keys += [key, last, key &- 1, last &+ 1]
            }
            var (decided, wrong) = (0, 0)
            for (key, together) in zip(keys, runs.matches(keys, or: trie)) {
                let value = trie.longestMatch(key.addressBits)?.value
                if together.value != value { wrong += 1 }
                guard let match = runs.match(key) else { continue }
                decided += 1
                if match.value != value { wrong += 1 }
            }
            return (decided, wrong)
        }
    }

    @Test(arguments: [0, 1, 30, 2_000])
    func `runs find the value that the walk finds`(prefixes: Int) {
        var pair = Pair(prefixes, values: 64, seed: UInt64(prefixes) + 3)
        let (decided, wrong) = pair.compare(4_000)
        #expect(wrong == 0)
        #expect(decided > 2_000)
    }

    @Test(arguments: [1, 40, 300, 100_000])
    func `runs follow every change, however many values there are`(values: UInt32) {
        var pair = Pair(400, values: values, seed: UInt64(values))
        for _ in 0..<300 {
            pair.change()
            #expect(pair.compare(4).wrong == 0)
        }
        let (decided, wrong) = pair.compare(2_000)
        #expect(wrong == 0)
        #expect(decided > 500)
    }

    @Test func `a change that needs more room for codes keeps those of other prefixes`() {
        var pair = Pair(0, values: 2, seed: 1)
        for number in 0..<2_000 as Range<UInt32> {
            let key = (number % 500) << 16 | (number / 500) << 9
            _ = pair.trie.insertKeepingRoot(number % 60, key.addressBits, length: 24)
            pair.runs.follow(pair.trie, key, length: 24)
        }
        for number in 0..<2_000 as Range<UInt32> {
            let key = (number % 500) << 16 | (number / 500) << 9
            #expect(pair.runs.match(key | 7)?.value == number % 60)
            #expect(pair.runs.match(key | 0x107)?.value == .some(nil))
        }
    }

    @Test func `a table has runs while it is large, and answers the same without`() {
        var table = IPv4PrefixTable()
        let count: UInt32 = 1 << 17
        table.insert(1_000, key: 0, length: 0)
        for number in 1..<count { table.insert(number % 32, key: number << 12, length: 24) }
        table.compact(withRunsFrom: Int(count) + 1)
        #expect(table.runs == nil)
        table.compact(withRunsFrom: Int(count))
        #expect(table.runs != nil)
        #expect(table.longestMatchValue(0x1234_5006) == 5)
        #expect(table.longestMatchValue(0x1234_5106) == 1_000)
        table.remove(key: 0x1234_5000, length: 24)
        #expect(table.longestMatchValue(0x1234_5006) == 1_000)
        table.remove(key: 0, length: 0)
        #expect(table.longestMatchValue(0x1234_5006) == nil)
        let withRuns = table.memoryFootprint
        for number in 1...(count / 8) { table.remove(key: number << 12, length: 24) }
        #expect(table.runs == nil)
        #expect(table.memoryFootprint < withRuns - 2_600_000)
        #expect(table.longestMatchValue(0x1fff_f006) == 31)
        #expect(table.longestMatchValue(0x1234_5006) == nil)
    }
}
