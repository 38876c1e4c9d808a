// SPDX-License-Identifier: Apache-2.0

// Many addresses at once: while one lookup waits for memory, the others go on.

/// What a table says about an address: the value of the longest prefix over it.
///
/// A number and no optional, so that no branch depends on the table before the value is used.
@usableFromInline
package struct PrefixMatch: Sendable {
    @usableFromInline let word: UInt64

    @inlinable
    init(word: UInt64) {
        self.word = word
    }

    /// Set in a word that has a value in its lower half.
    @inlinable static var present: UInt64 { 1 << 32 }

    /// The value; `nil` where no prefix covers the address.
    @inlinable
    package var value: UInt32? {
        word & Self.present == 0 ? nil : UInt32(truncatingIfNeeded: word)
    }
}

extension PrefixTable {
    /// The values of the longest prefixes that cover addresses, in the order of the addresses.
    ///
    /// Each is the one that ``longestMatchValue(_:)`` finds.
    @inlinable
    package func longestMatchValues(_ keys: [Key]) -> [PrefixMatch] {
        guard let runs else { return trie.matches(keys.map(\.addressBits)) }
        return runs.matches(keys.map { UInt32(addressBits: $0.addressBits) }, or: trie)
    }
}

extension IPv4Runs {
    /// The values for several addresses; those that are not decided here are asked of the trie.
    ///
    /// All slots are loaded first, then all codes. A turn of each loop is a few instructions, so that a processor has
    /// many loads under way: what follows from a slot would fill its window.
    @usableFromInline
    func matches(_ keys: [UInt32], or trie: PrefixTrie) -> [PrefixMatch] {
        var matches = [PrefixMatch](repeating: PrefixMatch(word: 0), count: keys.count)
        matches.withUnsafeMutableBufferPointer { findMatches(keys, trie, $0) }
        return matches
    }

    /// The same as ``match(_:)`` in three loops, without bounds checks for its reasons.
    ///
    /// The word of a match is in turn the first word of a slot, the run, and that of the value.
    private func findMatches(
        _ keys: [UInt32],
        _ trie: PrefixTrie,
        _ matches: UnsafeMutableBufferPointer<PrefixMatch>
    ) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: keys.count) { begins in
            words.withUnsafeBufferPointer { words in
                for place in keys.indices {
                    let slot = Self.slot(of: keys[place])
                    matches[place] = PrefixMatch(word: words[slot])
                    begins.initializeElement(at: place, to: words[slot &+ Self.quarter(of: keys[place])])
                }
                for place in keys.indices {
                    let run = Self.run(of: keys[place], matches[place].word, begins[place])
                    matches[place] = PrefixMatch(word: run)
                }
                codes.withUnsafeBufferPointer { codes in
                    for place in keys.indices {
                        let word = Self.word(ofRun: matches[place].word, words, codes)
                        let isDecided = word & Self.undecidedWord == 0
                        matches[place] =
                            isDecided ? PrefixMatch(word: word) : trie.match(keys[place].addressBits)
                    }
                }
            }
        }
    }
}

/// A walk down the trie, between two of its steps.
private struct PrefixWalk {
    /// The place of the address among the others.
    var place: Int
    /// The rest of the address, from the path of the node on.
    var key: AddressBits
    /// The node's index, its words, and the first word of its path.
    var node: Int
    var prefixes: UInt32 = 0
    var info: UInt32 = 0
    var base: UInt32 = 0
    var path: UInt32 = 0
    /// The last node with a hit so far, and the hits there, 0 for none.
    var best = 0
    var hits: UInt32 = 0
}

extension PrefixTrie {
    /// How many walks are under way at once.
    private static var walkCount: Int { 16 }

    /// The same as ``longestMatch(_:)``, without the length.
    @inline(never)
    fileprivate func match(_ key: AddressBits) -> PrefixMatch {
        PrefixMatch(word: longestMatch(key).map { PrefixMatch.present | UInt64($0.value) } ?? 0)
    }

    /// The same for several addresses, in their order.
    ///
    /// Walks go step by step together: the words of all nodes are loaded, then the first words of all paths, and then
    /// each walk finds its next node. No load waits for one of another walk, and no branch for a load. The buffer is
    /// read without bounds checks as in ``longestMatch(_:)``, at the same indexes.
    @usableFromInline
    func matches(_ keys: [AddressBits]) -> [PrefixMatch] {
        var matches = [PrefixMatch](repeating: PrefixMatch(word: 0), count: keys.count)
        words.withUnsafeBufferPointer { words in
            withUnsafeTemporaryAllocation(of: PrefixWalk.self, capacity: Self.walkCount) { walks in
                var begun = min(keys.count, Self.walkCount)
                var running = begun
                for place in 0..<running {
                    walks.initializeElement(at: place, to: beginning(keys[place], at: place))
                }
                while running > 0 {
                    load(walks, running, words)
                    // From the last on, as the last walk takes the place of one that ends.
                    for turn in (0..<running).reversed() where !step(&walks[turn], words) {
                        let place = walks[turn].place
                        matches[place] = match(walks[turn], slot: slot(of: keys[place]), words)
                        if begun < keys.count {
                            walks[turn] = beginning(keys[begun], at: begun)
                            begun += 1
                        } else {
                            running -= 1
                            walks[turn] = walks[running]
                        }
                    }
                }
            }
        }
        return matches
    }

    private func beginning(_ key: AddressBits, at place: Int) -> PrefixWalk {
        PrefixWalk(place: place, key: key.dropping(rootBits), node: slot(of: key))
    }

    /// Loads the nodes of the first walks.
    @inline(__always)
    private func load(
        _ walks: UnsafeMutableBufferPointer<PrefixWalk>,
        _ count: Int,
        _ words: UnsafeBufferPointer<UInt32>
    ) {
        for turn in 0..<count {
            let node = walks[turn].node
            walks[turn].prefixes = words[node]
            walks[turn].info = words[node &+ 1]
            walks[turn].base = words[node &+ 2]
        }
        for turn in 0..<count where walks[turn].info & Self.skipBits != 0 {
            walks[turn].path = words[Int(truncatingIfNeeded: walks[turn].base)]
        }
    }

    /// Finds the next node of a walk; `false` where it ends.
    @inline(__always)
    private func step(_ walk: inout PrefixWalk, _ words: UnsafeBufferPointer<UInt32>) -> Bool {
        let info = walk.info
        var key = walk.key
        var children = Int(truncatingIfNeeded: walk.base)
        if info & Self.skipBits != 0 {
            let skip = Int(truncatingIfNeeded: info &>> 16 & 31)
            guard matches(path: children, first: walk.path, skip: skip, key) else { return false }
            key = key.dropping(4 &* skip)
            children &+= (skip &+ 7) &>> 3
        }
        let nibble = UInt32(truncatingIfNeeded: key.high &>> 60)
        let hits = walk.prefixes & words[Int(truncatingIfNeeded: nibble)]
        walk.best = hits != 0 ? walk.node : walk.best
        walk.hits = hits != 0 ? hits : walk.hits
        let bit: UInt32 = 1 &<< nibble
        guard info & bit != 0 else { return false }
        walk.node = children &+ 3 &* (info & (bit &- 1)).nonzeroBitCount
        walk.key = AddressBits(high: key.high &<< 4 | key.low &>> 60, low: key.low &<< 4)
        return true
    }

    /// What a walk from a slot has found.
    @inline(__always)
    private func match(_ walk: PrefixWalk, slot: Int, _ words: UnsafeBufferPointer<UInt32>) -> PrefixMatch {
        var place = slot &+ 3
        if walk.hits != 0 {
            place = self[node: walk.best].value(31 &- walk.hits.leadingZeroBitCount)
        } else if words[slot &+ 1] &>> Self.shortLengthShift == 0 {
            return PrefixMatch(word: 0)
        }
        return PrefixMatch(word: PrefixMatch.present | UInt64(words[place]))
    }
}
