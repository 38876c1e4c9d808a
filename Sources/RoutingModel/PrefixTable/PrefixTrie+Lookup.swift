// SPDX-License-Identifier: Apache-2.0

extension PrefixTrie {
    /// The longest prefix that covers an address.
    ///
    /// What is remembered on the way down is the last node with a hit; which prefix it was, and its value,
    /// is found once, after the walk. That keeps the loop free of branches that depend on where prefixes
    /// are.
    ///
    /// The buffer is read without bounds checks: this is the innermost loop. Every index is in bounds: a
    /// slot's by the shift that makes it, a mask's because a nibble is below 16, and all others come from
    /// a node whose block was allocated by `allocate(_:)` from these words, with as many words as its
    /// bitmaps and its path count.
    ///
    /// Inlined where the key is an IPv4 address, its second half is known to be zero and costs nothing.
    @inline(__always)
    @usableFromInline
    func longestMatch(_ key: AddressBits) -> (length: Int, value: UInt32)? {
        words.withUnsafeBufferPointer { words in
            let slot = slot(of: key)
            var index = slot
            var offset = rootBits
            var key = key.dropping(rootBits)
            var best: (hits: UInt32, node: Int, offset: Int) = (0, 0, 0)
            while true {
                let prefixes = words[index]
                let info = words[index &+ 1]
                var children = Int(truncatingIfNeeded: words[index &+ 2])
                if info & Self.skipBits != 0 {
                    let skip = Int(truncatingIfNeeded: info &>> 16 & 31)
                    guard matches(path: children, skip: skip, key, words) else { break }
                    key = key.dropping(4 &* skip)
                    offset &+= 4 &* skip
                    children &+= (skip &+ 7) &>> 3
                }
                let nibble = key.high &>> 60
                let hits = prefixes & words[Int(truncatingIfNeeded: nibble)]
                if hits != 0 { best = (hits, index, offset) }
                let bit: UInt32 = 1 &<< UInt32(truncatingIfNeeded: nibble)
                guard info & bit != 0 else { break }
                index = children &+ 3 &* (info & (bit &- 1)).nonzeroBitCount
                offset &+= 4
                key = AddressBits(high: key.high &<< 4 | key.low &>> 60, low: key.low &<< 4)
            }
            guard best.hits != 0 else {
                let length = Int(truncatingIfNeeded: words[slot &+ 1] &>> Self.shortLengthShift)
                return length == 0 ? nil : (length &- 1, words[slot &+ 3])
            }
            let bits = 31 &- best.hits.leadingZeroBitCount
            return (best.offset &+ Self.length(of: bits), words[self[node: best.node].value(bits)])
        }
    }

    /// The longest prefix of fewer than `length` bits that covers an address.
    @usableFromInline
    func longestMatch(_ key: AddressBits, shorterThan length: Int) -> (length: Int, value: UInt32)? {
        guard length > 0 else { return nil }
        let limit = length - 1
        let start = slot(of: key)
        if limit > rootBits {
            if let match = walk(from: start, offset: rootBits, key.dropping(rootBits), limit: limit) {
                return match
            }
        }
        let copied = Int(words[start + 1] >> Self.shortLengthShift)
        if copied <= length { return copied == 0 ? nil : (copied - 1, words[start + 3]) }
        return walk(from: Self.root, offset: 0, key, limit: limit)
    }

    /// The value of a prefix.
    @usableFromInline
    func value(_ key: AddressBits, length: Int) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        guard let index = locate(key, length: length, place)?.node else { return nil }
        let node = self[node: index]
        guard node.prefixes & 1 << place.position != 0 else { return nil }
        return words[node.value(place.position)]
    }

    /// The number of bits of a heap index: 0 for 1, 1 for 2 and 3, up to 4 for 16 to 31.
    @inline(__always)
    static func length(of position: Int) -> Int {
        Int.bitWidth &- 1 &- position.leadingZeroBitCount
    }

    /// The same walk from any node on, which counts only lengths up to `limit`.
    ///
    /// `key` comes with its first `offset` bits dropped.
    private func walk(
        from start: Int,
        offset startOffset: Int,
        _ key: AddressBits,
        limit: Int
    ) -> (length: Int, value: UInt32)? {
        words.withUnsafeBufferPointer { words in
            var index = start
            var offset = startOffset
            var key = key
            var best: (length: Int, value: Int)?
            while true {
                let node = self[node: index]
                if node.skip != 0 {
                    guard matches(path: node.base, skip: node.skip, key, words) else { break }
                    key = key.dropping(4 * node.skip)
                    offset += 4 * node.skip
                }
                guard offset <= limit else { break }
                let nibble = Int(truncatingIfNeeded: key.high >> 60)
                var hits = node.prefixes & words[nibble]
                if limit - offset < 4 { hits &= 1 << (2 << (limit - offset)) - 1 }
                if hits != 0 {
                    let position = 31 - hits.leadingZeroBitCount
                    best = (offset + Self.length(of: position), node.value(position))
                }
                guard node.children & 1 << nibble != 0 else { break }
                index = node.child(nibble)
                offset += 4
                key = key.dropping(4)
            }
            return best.map { ($0.length, words[$0.value]) }
        }
    }

    /// Whether an address begins with the nibbles of a path.
    @inline(__always)
    private func matches(
        path: Int,
        skip: Int,
        _ key: AddressBits,
        _ words: UnsafeBufferPointer<UInt32>
    ) -> Bool {
        matches(path: path, first: words[path], skip: skip, key)
    }

    /// The same for a path whose first word is loaded.
    @inline(__always)
    func matches(path: Int, first: UInt32, skip: Int, _ key: AddressBits) -> Bool {
        let first = UInt32(truncatingIfNeeded: key.high &>> 32) ^ first
        guard skip > 8 else { return first &>> UInt32(truncatingIfNeeded: 32 &- 4 &* skip) == 0 }
        return first == 0 && matches(longPath: path, skip: skip, key)
    }

    /// The same for paths of more than eight nibbles, which only IPv6 has.
    @inline(never)
    private func matches(longPath index: Int, skip: Int, _ key: AddressBits) -> Bool {
        let node = PrefixTrieNode(skip: skip, base: index)
        return path(of: node).commonLength(with: key) >= 4 * skip
    }

    /// The node that would hold a prefix, with the node and the nibble above it.
    ///
    /// The root and the slots have no parent. `nil` when there is no such node.
    func locate(
        _ key: AddressBits,
        length: Int,
        _ place: PrefixPlace
    ) -> (node: Int, parent: Int?, nibble: Int)? {
        var index = length <= rootBits ? Self.root : slot(of: key)
        var offset = length <= rootBits ? 0 : rootBits
        var parent: Int?
        var nibble = 0
        while true {
            let node = self[node: index]
            guard offset + 4 * node.skip <= place.offset,
                path(of: node).commonLength(with: key.dropping(offset)) >= 4 * node.skip
            else { return nil }
            offset += 4 * node.skip
            if offset == place.offset { return (index, parent, nibble) }
            nibble = key.nibble(at: offset)
            guard node.children & 1 << nibble != 0 else { return nil }
            parent = index
            index = node.child(nibble)
            offset += 4
        }
    }
}
