// SPDX-License-Identifier: Apache-2.0

extension PrefixTrie {
    /// Calls `body` with the key, length and value of every prefix.
    ///
    /// First come the prefixes that hang below the root, then those below the slots; in each part shorter
    /// before longer on one path, and smaller before larger addresses.
    @usableFromInline
    func forEachEntry(_ body: (AddressBits, Int, UInt32) -> Void) {
        forEachEntry(below: Self.root, offset: 0, .zero, body)
        for slot in stride(from: Self.firstSlot, to: blocksStart, by: 4) {
            let number = UInt64((slot - Self.firstSlot) / 4)
            let key = AddressBits(high: number << (64 - rootBits), low: 0)
            forEachEntry(below: slot, offset: rootBits, key, body)
        }
    }

    /// Visits a node's heap indexes so that each comes before what it covers.
    ///
    /// After h comes 2h, down to a full nibble and its child; from there up to the next right turn.
    private func forEachEntry(
        below index: Int,
        offset startOffset: Int,
        _ startKey: AddressBits,
        _ body: (AddressBits, Int, UInt32) -> Void
    ) {
        let node = self[node: index]
        guard !node.isEmpty else { return }
        let offset = startOffset + 4 * node.skip
        let key = startKey | path(of: node).movedBack(by: startOffset)
        var position = 1
        while true {
            let bits = Self.length(of: position)
            let nibble = (position << (4 - bits)) & 15
            let prefix = key | AddressBits(high: UInt64(nibble) << 60, low: 0).movedBack(by: offset)
            if node.prefixes & 1 << position != 0 {
                body(prefix, offset + bits, words[node.value(position)])
            }
            if position < 16 {
                position *= 2
                continue
            }
            if node.children & 1 << nibble != 0 {
                forEachEntry(below: node.child(nibble), offset: offset + 4, prefix, body)
            }
            position >>= (~position).trailingZeroBitCount
            if position == 0 { return }
            position += 1
        }
    }
}

extension PrefixTrie {
    /// The value of the longest prefix that covers a whole slot.
    func shortMatch(slot number: Int) -> UInt32? {
        let slot = Self.firstSlot + 4 * number
        return words[slot + 1] >> Self.shortLengthShift == 0 ? nil : words[slot + 3]
    }

    /// Visits the prefixes below one of 65,536 slots, each before those that it covers.
    ///
    /// - Parameters:
    ///   - number: The first 16 bits of the addresses.
    ///   - body: Takes the first /24 of a prefix by its number in the slot, how many it covers, and its value: `nil`
    ///     for a /24 that has prefixes of more than 24 bits.
    func forEachPrefix(inSlot number: Int, _ body: (_ first: Int, _ count: Int, _ value: UInt32?) -> Void) {
        forEachPrefix(below: Self.firstSlot + 4 * number, offset: 0, first: 0, body)
    }

    /// The same below a node that decides eight bits at most.
    private func forEachPrefix(
        below index: Int,
        offset startOffset: Int,
        first startOfNode: Int,
        _ body: (Int, Int, UInt32?) -> Void
    ) {
        let node = self[node: index]
        var (offset, start) = (startOffset, startOfNode)
        if node.skip > 0 {
            start |= Int(path(of: node).high >> 56) >> offset
            offset += 4 * node.skip
        }
        guard offset < 8 else { return body(start, 1, nil) }
        var prefixes = node.prefixes
        while prefixes != 0 {
            let position = prefixes.trailingZeroBitCount
            prefixes &= prefixes - 1
            let bits = Self.length(of: position)
            let count = 256 >> (offset + bits)
            body(start + (position - 1 << bits) * count, count, words[node.value(position)])
        }
        var children = node.children
        while children != 0 {
            let nibble = children.trailingZeroBitCount
            children &= children - 1
            let first = start + nibble << (4 - offset)
            forEachPrefix(below: node.child(nibble), offset: offset + 4, first: first, body)
        }
    }
}
