// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A node of a ``PrefixTable``: the prefixes that end within four bits, and what lies below them.
///
/// A node at offset `o` holds the prefixes of length `o + 1` to `o + 4`; the root, at offset 0, also that of length 0.
/// The position of a prefix is a heap index: 1 is the node itself, and 2h and 2h + 1 are h followed by a 0 or a 1. So
/// 16 to 31 are the prefixes of full length.
struct PrefixNode: Sendable {
    /// The number of bits that a node decides.
    static let step = 4

    /// The bits that everything in the node and below it begins with, and zeros behind them.
    let key: UInt128
    /// Bit h: there is a prefix at position h.
    var prefixes: UInt32 = 0
    /// The index of the first value; values are in the order of their positions.
    var firstValue: UInt32 = 0
    /// The index of the first child; children are in the order of their next bits.
    var firstChild: UInt32 = 0
    /// Bit n: there is a child whose next four bits are n.
    var children: UInt16 = 0
    private let storedOffset: UInt8

    /// Creates a node without prefixes.
    init(_ bits: UInt128 = 0, offset: Int = 0) {
        key = bits.keeping(offset)
        storedOffset = UInt8(offset)
    }

    /// The number of bits of ``key``, a multiple of ``step``.
    var offset: Int { Int(storedOffset) }

    /// Whether an address begins with the bits of the node.
    func covers(_ bits: UInt128) -> Bool {
        (key ^ bits).leadingZeroBitCount >= offset
    }

    /// The bits of an address that the node decides.
    func group(of bits: UInt128) -> Int {
        bits.group(at: offset)
    }

    /// The position of the longest prefix that covers addresses with a group of bits and is shorter than a limit.
    func longestMatch(_ group: Int, shorterThan limit: Int) -> Int? {
        guard prefixes != 0 else { return nil }
        // With each bit less a prefix is at half the position.
        var position = (1 << Self.step | group) >> max(0, Self.step + 1 + offset - limit)
        while position > 0, !has(position) { position >>= 1 }
        return position > 0 ? position : nil
    }
}

extension PrefixNode {
    /// Whether there is a prefix at a position.
    func has(_ position: Int) -> Bool {
        prefixes &>> UInt32(position) & 1 != 0
    }

    /// The index of the value of a position, present or to be inserted.
    func value(_ position: Int) -> Int {
        Int(firstValue) + (prefixes & (1 &<< UInt32(position) - 1)).nonzeroBitCount
    }

    /// The indexes of all values.
    var values: Range<Int> {
        Int(firstValue)..<Int(firstValue) + prefixes.nonzeroBitCount
    }

    /// The index of the child for a group of bits; `nil` if there is none.
    func child(_ group: Int) -> Int? {
        children &>> UInt16(group) & 1 != 0 ? childIndex(group) : nil
    }

    /// The index of the child for a group of bits, present or to be inserted.
    func childIndex(_ group: Int) -> Int {
        Int(firstChild) + (children & (1 &<< UInt16(group) - 1)).nonzeroBitCount
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
    func bits(ofPosition position: Int) -> UInt128 {
        let count = Self.bitCount(position)
        return key | (UInt128(position) & (1 &<< UInt128(count) - 1)) << UInt128(128 - offset - count)
    }

    /// The bits that a position adds to those of the node.
    private static func bitCount(_ position: Int) -> Int {
        Int.bitWidth - 1 - position.leadingZeroBitCount
    }
}

// MARK: - Bits

extension UInt128 {
    /// The bits that a node at an offset decides; zeros stand for those behind the last.
    func group(at offset: Int) -> Int {
        Int(truncatingIfNeeded: (self &<< UInt128(offset)) &>> UInt128(128 - PrefixNode.step))
    }

    /// The first `count` bits, and zeros behind them.
    func keeping(_ count: Int) -> UInt128 {
        count == 0 ? 0 : self & (.max &<< UInt128(128 - count))
    }
}

extension IPAddress {
    /// The address with its first bit topmost.
    var topBits: UInt128 { family == .v4 ? bits &<< 96 : bits }

    /// Takes the first bits of a number.
    init(topBits: UInt128, _ family: Family) {
        self.init(family: family, bits: family == .v4 ? topBits >> 96 : topBits)
    }
}
