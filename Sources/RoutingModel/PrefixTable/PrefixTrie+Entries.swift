// SPDX-License-Identifier: Apache-2.0

extension PrefixTrie {
    /// Calls `body` with the key, length and value of every prefix.
    ///
    /// First come the prefixes that hang below the root, then those below the slots; in each part shorter
    /// before longer on one path, and smaller before larger addresses.
    @usableFromInline
    func forEachEntry(_ body: (AddressBits, Int, UInt32) throws -> Void) rethrows {
        try forEachEntry(below: Self.root, offset: 0, .zero, body)
        for slot in stride(from: Self.firstSlot, to: blocksStart, by: 4) {
            let number = UInt64((slot - Self.firstSlot) / 4)
            let key = AddressBits(high: number << (64 - rootBits), low: 0)
            try forEachEntry(below: slot, offset: rootBits, key, body)
        }
    }

    /// Visits a node's heap indexes so that each comes before what it covers.
    ///
    /// After h comes 2h, down to a full nibble and its child; from there up to the next right turn.
    private func forEachEntry(
        below index: Int,
        offset startOffset: Int,
        _ startKey: AddressBits,
        _ body: (AddressBits, Int, UInt32) throws -> Void
    ) rethrows {
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
                try body(prefix, offset + bits, words[node.value(position)])
            }
            if position < 16 {
                position *= 2
                continue
            }
            if node.children & 1 << nibble != 0 {
                try forEachEntry(below: node.child(nibble), offset: offset + 4, prefix, body)
            }
            position >>= (~position).trailingZeroBitCount
            if position == 0 { return }
            position += 1
        }
    }
}
