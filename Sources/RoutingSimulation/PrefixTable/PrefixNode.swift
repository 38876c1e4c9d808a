// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A node of a ``PrefixTable``: the prefixes that end within four bits, and what lies below them.
///
/// A node at offset `o` holds the prefixes of length `o + 1` to `o + 4`; the root, at offset 0, also that of length 0.
/// The position of a prefix is a heap index: 1 is the node itself, and 2h and 2h + 1 are h followed by a 0 or a 1. So
/// 16 to 31 are the sixteen prefixes of full length.
struct PrefixNode<Key: PrefixKey>: Sendable {
    /// The bits that everything in the node and below it begins with, and zeros behind them.
    private(set) var key: Key
    /// Bit h: there is a prefix at position h.
    var prefixes: UInt32 = 0
    /// The index of the first value; values are in the order of their positions.
    var firstValue: UInt32 = 0
    /// The index of the first child; children are in the order of their nibbles.
    var firstChild: UInt32 = 0
    /// Bit n: there is a child whose next four bits are n.
    var children: UInt16 = 0
    private let storedOffset: UInt8

    /// Creates a node without prefixes.
    init(_ bits: AddressBits = .zero, offset: Int = 0) {
        key = Key(addressBits: bits.keeping(offset))
        storedOffset = UInt8(offset)
    }

    /// The number of bits of ``key``, a multiple of 4.
    var offset: Int { Int(storedOffset) }

    /// Whether an address begins with the bits of the node.
    func covers(_ bits: AddressBits) -> Bool {
        key.addressBits.commonLength(with: bits) >= offset
    }

    /// The four bits of an address that the node decides.
    func nibble(of bits: AddressBits) -> Int {
        bits.nibble(at: offset)
    }

    /// The positions, as bits, of the prefixes that cover addresses with a nibble and are shorter than a limit.
    func matches(_ nibble: Int, shorterThan limit: Int) -> UInt32 {
        let leaf = UInt32(16 | nibble)
        let covering = 1 << leaf | 1 << (leaf >> 1) | 1 << (leaf >> 2) | 1 << (leaf >> 3) | 2 as UInt32
        // Positions below 2^n have fewer than n bits.
        let bits = limit &- offset
        return bits > 4 ? prefixes & covering : bits < 1 ? 0 : prefixes & covering & ((1 << (1 << bits)) - 1)
    }
}

extension PrefixNode {
    /// Whether there is a prefix at a position.
    func has(_ position: Int) -> Bool {
        prefixes & 1 << UInt32(position) != 0
    }

    /// The index of the value of a position, present or to be inserted.
    func value(_ position: Int) -> Int {
        Int(firstValue) + (prefixes & (1 << UInt32(position) - 1)).nonzeroBitCount
    }

    /// The indexes of all values.
    var values: Range<Int> {
        Int(firstValue)..<Int(firstValue) + prefixes.nonzeroBitCount
    }

    /// The index of the child for a nibble; `nil` if there is none.
    func child(_ nibble: Int) -> Int? {
        children & 1 << UInt16(nibble) != 0 ? childIndex(nibble) : nil
    }

    /// The index of the child for a nibble, present or to be inserted.
    func childIndex(_ nibble: Int) -> Int {
        Int(firstChild) + (children & (1 << UInt16(nibble) - 1)).nonzeroBitCount
    }

    /// The indexes of all children.
    var childBlock: Range<Int> {
        Int(firstChild)..<Int(firstChild) + children.nonzeroBitCount
    }

    /// The length of the prefix at a position.
    func length(ofPosition position: Int) -> Int {
        offset + Self.bitCount(position)
    }

    /// The bits of the prefix at a position.
    func key(ofPosition position: Int) -> Key {
        let bits = Self.bitCount(position)
        let nibble = UInt64(position << (4 - bits) & 15) << 60
        return Key(addressBits: key.addressBits | AddressBits(high: nibble, low: 0).movedBack(by: offset))
    }

    /// The bits that a position adds to those of the node.
    private static func bitCount(_ position: Int) -> Int {
        Int.bitWidth - 1 - position.leadingZeroBitCount
    }
}
