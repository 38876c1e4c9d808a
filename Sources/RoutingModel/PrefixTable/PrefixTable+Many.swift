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
    /// All places of codes are found first, then all codes: within each half no load waits for another.
    @usableFromInline
    func matches(_ keys: [UInt32], or trie: PrefixTrie) -> [PrefixMatch] {
        words.withUnsafeBufferPointer { words in
            codes.withUnsafeBufferPointer { codes in
                var matches = keys.map { PrefixMatch(word: run(of: $0, words)) }
                for place in matches.indices {
                    let word = word(ofRun: matches[place].word, words, codes)
                    let isDecided = word & Self.undecidedWord == 0
                    matches[place] = isDecided ? PrefixMatch(word: word) : trie.match(keys[place].addressBits)
                }
                return matches
            }
        }
    }
}

/// A walk down the trie, between two of its steps.
private struct PrefixWalk {
    /// The place of the address among the others.
    var place: Int
    /// The rest of the address, from the bits of the node on.
    var key: AddressBits
    /// The node's index, and its words, which were loaded one step ahead.
    var node: Int
    var prefixes: UInt32
    var info: UInt32
    var base: UInt32
    /// The index of the best value so far, 0 for none.
    var best: Int
    /// Not zero if the path above the node is not the address's: the walk has ended there.
    var difference: UInt32
}

extension PrefixTrie {
    /// How many walks are under way at once: their steps fill what a processor reorders.
    static var walkCount: Int { 16 }

    /// The same as ``longestMatch(_:)``, without the length.
    @inline(never)
    fileprivate func match(_ key: AddressBits) -> PrefixMatch {
        PrefixMatch(word: longestMatch(key).map { PrefixMatch.present | UInt64($0.value) } ?? 0)
    }

    /// The same for several addresses, in their order.
    ///
    /// Walks take turns, one step each. A step takes the words of its node, which were loaded in the turn before, and
    /// loads those of the next, with the path to compare: no branch waits for what its own step loads. The buffer
    /// is read without bounds checks as in ``longestMatch(_:)``, at the same indexes. A child's index does not depend
    /// on the path above it, so that it is in bounds although the path is compared later.
    @usableFromInline
    func matches(_ keys: [AddressBits]) -> [PrefixMatch] {
        var matches = [PrefixMatch](repeating: PrefixMatch(word: 0), count: keys.count)
        words.withUnsafeBufferPointer { words in
            withUnsafeTemporaryAllocation(of: PrefixWalk.self, capacity: Self.walkCount) { walks in
                var begun = min(keys.count, Self.walkCount)
                var running = begun
                for place in 0..<running {
                    walks.initializeElement(at: place, to: begin(keys[place], at: place, words))
                }
                while running > 0 {
                    var turn = 0
                    while turn < running {
                        if step(&walks[turn], words) {
                            turn += 1
                            continue
                        }
                        let best = walks[turn].best
                        if best != 0 {
                            let word = PrefixMatch.present | UInt64(words[best])
                            matches[walks[turn].place] = PrefixMatch(word: word)
                        }
                        if begun < keys.count {
                            walks[turn] = begin(keys[begun], at: begun, words)
                            begun += 1
                            turn += 1
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

    /// Begins a walk at the slot of an address.
    @inline(__always)
    private func begin(
        _ key: AddressBits,
        at place: Int,
        _ words: UnsafeBufferPointer<UInt32>
    ) -> PrefixWalk {
        let slot = slot(of: key)
        let info = words[slot &+ 1]
        return PrefixWalk(
            place: place,
            key: key.dropping(rootBits),
            node: slot,
            prefixes: words[slot],
            info: info,
            base: words[slot &+ 2],
            best: info &>> Self.shortLengthShift == 0 ? 0 : slot &+ 3,
            difference: 0
        )
    }

    /// Takes a step; `false` where the walk ends.
    @inline(__always)
    private func step(_ walk: inout PrefixWalk, _ words: UnsafeBufferPointer<UInt32>) -> Bool {
        guard walk.difference == 0 else { return false }
        let info = walk.info
        var key = walk.key
        var children = Int(truncatingIfNeeded: walk.base)
        var difference: UInt32 = 0
        if info & Self.skipBits != 0 {
            let skip = Int(truncatingIfNeeded: info &>> 16 & 31)
            difference = self.difference(fromPath: children, skip: skip, key, words)
            key = key.dropping(4 &* skip)
            children &+= (skip &+ 7) &>> 3
        }
        let nibble = UInt32(truncatingIfNeeded: key.high &>> 60)
        let hits = walk.prefixes & words[Int(truncatingIfNeeded: nibble)]
        if hits != 0 {
            let value = self.value(in: walk, hits)
            walk.best = difference == 0 ? value : walk.best
        }
        let bit: UInt32 = 1 &<< nibble
        guard info & bit != 0 else { return false }
        let child = children &+ 3 &* (info & (bit &- 1)).nonzeroBitCount
        walk.key = AddressBits(high: key.high &<< 4 | key.low &>> 60, low: key.low &<< 4)
        walk.node = child
        walk.prefixes = words[child]
        walk.info = words[child &+ 1]
        walk.base = words[child &+ 2]
        walk.difference = difference
        return true
    }

    /// The index of the value of the longest of the prefixes of a walk's node that are hit.
    @inline(__always)
    private func value(in walk: PrefixWalk, _ hits: UInt32) -> Int {
        let node = PrefixTrieNode(walk.prefixes, walk.info, walk.base)
        return node.isValueAlone ? walk.node &+ 2 : node.value(31 &- hits.leadingZeroBitCount)
    }
}
