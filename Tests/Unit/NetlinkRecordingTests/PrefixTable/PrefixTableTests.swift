// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fast table against its slow twin: the same random changes to both, the same answers from both.
struct PrefixTableTests {
    @Test(arguments: PrefixTableShape.allCases, 0..<UInt64(Rounds.of(10)))
    func `an IPv4 table answers as its slow twin does`(shape: PrefixTableShape, seed: UInt64) {
        PrefixTableDuel<UInt32>(shape, seed: seed).run(changes: 400)
    }

    @Test(arguments: PrefixTableShape.allCases, 0..<UInt64(Rounds.of(10)))
    func `an IPv6 table answers as its slow twin does`(shape: PrefixTableShape, seed: UInt64) {
        PrefixTableDuel<AddressBits>(shape, seed: seed).run(changes: 300)
    }

    @Test func `a table of many prefixes finds each of them, and gives its memory back with the last`() {
        var generator = SeededGenerator(seed: 3)
        var table = FastPrefixTable<UInt32>()
        var lengths: [UInt32: Int] = [:]
        // One prefix a number, so that a dictionary is twin enough: a match is the one prefix or none.
        while lengths.count < 20_000 {
            let key = UInt32.random(in: 0...(.max), using: &generator) & ~0xff
            guard lengths.updateValue(24, forKey: key) == nil else { continue }
            table.insert(key >> 8, key: key, length: 24)
        }
        let largest = table.memoryFootprint
        let sample = lengths.keys.sorted().enumerated().filter { $0.offset % 7 == 0 }.map(\.element)
        for key in sample {
            #expect(table.longestMatch(key | 0x55)?.value == key >> 8)
            let isNext = lengths[key &+ 0x100] != nil
            #expect((table.longestMatch(key &+ 0x100)?.length == 24) == isNext)
        }
        for key in lengths.keys.sorted() { #expect(table.remove(key: key, length: 24) == key >> 8) }
        #expect(table.count == 0)
        #expect(table.longestMatch(sample[0]) == nil)
        #expect(table.memoryFootprint < largest / 50)
    }

    @Test func `a copy keeps what it had when the other side changes`() {
        var table = FastPrefixTable<UInt32>()
        table.insert(7, key: 0x0a00_0000, length: 8)
        let copy = table
        table.insert(8, key: 0x0a01_0000, length: 16)
        table.remove(key: 0x0a00_0000, length: 8)
        #expect(copy.longestMatch(0x0a01_0203)?.value == 7)
        #expect(table.longestMatch(0x0a01_0203)?.value == 8)
        #expect(table.longestMatch(0x0a02_0203) == nil)
    }

    @Test func `bits behind the prefix do not count, and every number can be a value`() {
        var table = FastPrefixTable<AddressBits>()
        let key = AddressBits(high: 0x2001_0db8_ffff_ffff, low: .max)
        #expect(table.insert(.max, key: key, length: 32) == nil)
        #expect(table.insert(0, key: AddressBits(high: 0x2001_0db8 << 32, low: 0), length: 32) == .max)
        #expect(table.value(key: key, length: 32) == 0)
        #expect(table.count == 1)
    }
}

/// How prefixes are drawn: the shapes that real tables have, and those that strain the trie.
enum PrefixTableShape: CaseIterable {
    /// Anywhere, of any length.
    case scattered
    /// Inside each other along a few ways: many lengths over one address.
    case nested
    /// Side by side in a few blocks.
    case dense
    /// Few and long, so that ways without forks are skipped.
    case long
}

/// Random changes to a table and its twin, which are asked the same after each.
struct PrefixTableDuel<Key: PrefixKey> {
    private let shape: PrefixTableShape
    private var generator: SeededGenerator
    private var table = FastPrefixTable<Key>()
    private var twin = SlowPrefixTable<Key>()
    private let roots: [AddressBits]

    init(_ shape: PrefixTableShape, seed: UInt64) {
        self.shape = shape
        generator = SeededGenerator(seed: seed)
        var drawn: [AddressBits] = []
        for _ in 0..<3 { drawn.append(AddressBits(high: generator.next(), low: generator.next())) }
        roots = drawn
    }

    consuming func run(changes: Int) {
        for change in 0..<changes {
            let (key, length) = prefix()
            if Int.random(in: 0..<3, using: &generator) == 0, let known = anyKnown() {
                #expect(
                    table.remove(key: known.key, length: known.length)
                        == twin.remove(key: known.key, length: known.length))
            } else {
                let value = UInt32(truncatingIfNeeded: generator.next())
                #expect(
                    table.insert(value, key: key, length: length)
                        == twin.insert(value, key: key, length: length))
            }
            #expect(table.count == twin.entries.count)
            ask(key, length)
            if change % 100 == 99 {
                compareAll()
            }
        }
    }

    /// Around the edges of a prefix and at one address anywhere.
    private mutating func ask(_ key: Key, _ length: Int) {
        #expect(table.value(key: key, length: length) == twin.value(key: key, length: length))
        let last = Key.maximumLength - 1
        for address in [key, key.flipped(length - 1), key.flipped(last), prefix().key] {
            var limit = Key.maximumLength + 1
            #expect(isSame(table.longestMatch(address), twin.longestMatch(address)))
            // The whole way back, as the kernel goes it.
            while let match = twin.longestMatch(address, shorterThan: limit) {
                #expect(isSame(table.longestMatch(address, shorterThan: limit), match))
                limit = match.length
            }
            #expect(table.longestMatch(address, shorterThan: limit) == nil)
        }
    }

    private func compareAll() {
        var found: [SlowPrefixTable<Key>.Prefix: UInt32] = [:]
        table.forEachEntry { key, length, value in
            let prefix = SlowPrefixTable<Key>.Prefix(key, length: length)
            #expect(found.updateValue(value, forKey: prefix) == nil)
            #expect(prefix.bits == key.number)
        }
        #expect(found == Dictionary(uniqueKeysWithValues: twin.entries.map { ($0.prefix, $0.value) }))
    }

    private func isSame(
        _ one: (length: Int, value: UInt32)?,
        _ other: (length: Int, value: UInt32)?
    ) -> Bool {
        one?.length == other?.length && one?.value == other?.value
    }

    // MARK: Drawing

    private mutating func anyKnown() -> (key: Key, length: Int)? {
        guard !twin.entries.isEmpty else { return nil }
        let prefix = twin.entries[Int.random(in: 0..<twin.entries.count, using: &generator)].prefix
        return (Key(number: prefix.bits), prefix.length)
    }

    private mutating func prefix() -> (key: Key, length: Int) {
        let width = Key.maximumLength
        var bits = AddressBits(high: generator.next(), low: generator.next())
        var length = Int.random(in: 0...width, using: &generator)
        let root = roots[Int.random(in: 0..<roots.count, using: &generator)]
        switch shape {
        case .scattered: break
        case .nested:
            bits = root
            if Bool.random(using: &generator) { bits = bits.flipped(length) }
        case .dense:
            let noise = UInt64.random(in: 0..<64, using: &generator) << (64 - 20)
            bits = AddressBits(high: root.high & ~(UInt64(63) << (64 - 20)) ^ noise, low: root.low)
            length = Int.random(in: 15...24, using: &generator)
        case .long:
            bits = AddressBits(high: root.high, low: root.low ^ UInt64.random(in: 0..<8, using: &generator))
            if width == 32 { bits = AddressBits(high: root.high ^ (bits.low & 7) << 32, low: 0) }
            length = Int.random(in: (width - 6)...width, using: &generator)
        }
        return (Key(addressBits: bits), length)
    }
}
