// SPDX-License-Identifier: Apache-2.0

extension PrefixTrie {
    /// The longest prefix over an address, without its length.
    struct Match {
        /// 0 where there is none, which is known without a branch.
        fileprivate var hits: UInt32
        /// The value of the prefix, where there is one.
        var value: UInt32

        /// Whether there is one.
        var isThere: Bool { hits != 0 }

        @inline(__always)
        fileprivate init(hits: UInt32, value: UInt32) {
            self.hits = hits
            self.value = value
        }

        /// Wraps the result of ``longestMatch(_:)``.
        @inline(__always)
        init(_ match: (length: Int, value: UInt32)?) {
            hits = match == nil ? 0 : 1
            value = match?.value ?? 0
        }
    }

    /// How far the lookup of one address has come.
    fileprivate struct Lane {
        var slot = 0
        /// The node below the slot, or the slot again where there is none.
        var node = 0
        /// All bits set where there is a node below the slot.
        var mask: UInt32 = 0
        /// The hits in the slot's node.
        var hits: UInt32 = 0
        /// The place of the value.
        var place = 0
        /// The hits in both nodes, or whether there is one above the slot; 0 for none.
        var allHits: UInt32 = 0
        /// Whether two nodes do not decide: the way is skipped, or a third one follows.
        var isRare = false
    }

    /// The longest prefix that covers an IPv4 address: the answer of ``longestMatch(_:)``, where it is quickly found.
    ///
    /// It is found in the slot's node or in the node below it, which in a table with all its slots is nearly always
    /// the case. No branch depends on the prefixes, so a processor starts the next lookup while this one waits for
    /// memory.
    ///
    /// - Returns: The match; `nil` where the caller must use ``longestMatch(_:)``.
    @inline(__always)
    func quickIPv4Match(_ key: UInt32) -> Match? {
        guard rootBits == Self.largestRoot else { return nil }
        return words.withUnsafeBufferPointer { words in
            var lane = Lane()
            lane.readSlot(of: key, words, Self.largestRoot)
            lane.readNode(of: key, words, Self.largestRoot)
            return lane.isRare ? nil : Match(hits: lane.allHits, value: words[lane.place])
        }
    }
}

extension PrefixTrie.Lane {
    @inline(__always)
    fileprivate mutating func readSlot(
        of key: UInt32,
        _ words: UnsafeBufferPointer<UInt32>,
        _ rootBits: Int
    ) {
        let root = UInt32(truncatingIfNeeded: rootBits)
        slot = PrefixTrie.firstSlot &+ 4 &* Int(truncatingIfNeeded: key &>> (32 &- root))
        let nibble = (key &<< root) &>> 28
        let info = words[slot &+ 1]
        hits = words[slot] & words[Int(truncatingIfNeeded: nibble)]
        let rank = (info & ((1 &<< nibble) &- 1)).nonzeroBitCount
        let child = Int(truncatingIfNeeded: words[slot &+ 2]) &+ 3 &* rank
        mask = 0 &- (info &>> nibble & 1)
        node = slot ^ (slot ^ child) & Int(truncatingIfNeeded: Int32(bitPattern: mask))
    }

    @inline(__always)
    fileprivate mutating func readNode(
        of key: UInt32,
        _ words: UnsafeBufferPointer<UInt32>,
        _ rootBits: Int
    ) {
        let root = UInt32(truncatingIfNeeded: rootBits)
        let nibble = (key &<< root) &>> 24 & 15
        let info = words[slot &+ 1]
        let nextInfo = words[node &+ 1] & mask
        let nextHits = words[node] & mask & words[Int(truncatingIfNeeded: nibble)]
        isRare = (info | nextInfo) & PrefixTrie.skipBits | nextInfo &>> nibble & 1 != 0
        // The value of the longer prefix, of the shorter one, or of what lies above the slot.
        let isNext = Self.ones(where: nextHits)
        let best = hits ^ (hits ^ nextHits) & UInt32(truncatingIfNeeded: isNext)
        let last = slot ^ (slot ^ node) & isNext
        let bits = 31 &- (best | 1).leadingZeroBitCount
        let below = (1 &<< UInt32(truncatingIfNeeded: bits)) &- 1 as UInt32
        let rank = (words[last] & below).nonzeroBitCount
        let own = Int(truncatingIfNeeded: words[last &+ 2]) &- 1 &- rank
        let isAny = Self.ones(where: best)
        let copied = slot &+ 3
        place = copied ^ (copied ^ own) & isAny
        allHits = best | info &>> PrefixTrie.shortLengthShift
    }

    /// All bits set where a number is not 0, worked out so that no compiler makes a branch of it.
    @inline(__always)
    private static func ones(where number: UInt32) -> Int {
        (0 &- Int(truncatingIfNeeded: number)) &>> 63
    }
}
