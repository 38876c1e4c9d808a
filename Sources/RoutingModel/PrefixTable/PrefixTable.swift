// SPDX-License-Identifier: Apache-2.0

/// A table of IPv4 prefixes.
package typealias IPv4PrefixTable = PrefixTable<UInt32>
/// A table of IPv6 prefixes.
package typealias IPv6PrefixTable = PrefixTable<AddressBits>

/// A map from prefixes to numbers that finds the longest prefix covering an address.
///
/// ```swift
/// var table = IPv4PrefixTable()
/// table.insert(7, key: 0x0A00_0000, length: 8)             // 10.0.0.0/8
/// table.longestMatch(0x0A01_0203)                          // (length: 8, value: 7)
/// ```
///
/// A prefix has one value: an index into storage of the owner, who chains what shares a prefix. All 2^32
/// values are allowed. Bits of a key behind the prefix length are ignored, so 10.1.2.3/8 is 10.0.0.0/8.
///
/// **Threads.** It is a value: a copy costs nothing until one side changes, which then copies the whole
/// storage once. Any number of threads may read copies while one changes its own; no reader sees a
/// change half done. The thread that updates and publishes after each batch pays one copy a batch.
///
/// **Cost.** A lookup is a walk of at most eight steps in IPv4 and thirty-two in IPv6, in a large table
/// usually two to four, and allocates nothing. A change rewrites one or two blocks of at most 83 words
/// and, for a length of at most 16, the root's slots that it covers; in a large IPv4 table also the runs
/// of a /16 (``IPv4Runs``). Now and then a change moves the whole table to a larger, smaller or tidier
/// storage; spread over the changes that led there this is a constant each.
///
/// **Limits.** A length outside 0 to `Key.maximumLength` is a programmer's error and traps in `insert`,
/// `remove` and `value`. More than 2^32 words of storage (16 GiB) trap.
///
/// The kernel's counterpart is one FIB table: `fib_trie` for IPv4, `ip6_fib` for IPv6.
@usableFromInline
package struct PrefixTable<Key: PrefixKey>: Sendable {
    @usableFromInline var trie: PrefixTrie
    /// The short way through a large IPv4 table.
    @usableFromInline var runs: IPv4Runs?

    /// Makes an empty table, of about 1,500 bytes.
    @inlinable
    package init() {
        trie = PrefixTrie()
    }

    /// The number of prefixes.
    @inlinable package var count: Int { trie.count }

    /// The bytes that the table holds allocated: capacity, not only what is in use.
    ///
    /// Copies that share their storage report the same bytes. Up to 1 / 5 of it is room to grow, and it is
    /// given back when half of it has become unused.
    package var memoryFootprint: Int { trie.memoryFootprint + (runs?.memoryFootprint ?? 0) }
}

extension PrefixTable {
    /// The longest prefix that covers an address, or `nil` when none does.
    ///
    /// - Returns: The prefix length in bits and the value.
    @inlinable
    @inline(__always)
    package func longestMatch(_ key: Key) -> (length: Int, value: UInt32)? {
        trie.longestMatch(key.addressBits)
    }

    /// The value of the longest prefix that covers an address, or `nil` when none does.
    ///
    /// Without the length it is found faster in a large IPv4 table; see ``IPv4Runs``.
    @inlinable
    package func longestMatchValue(_ key: Key) -> UInt32? {
        if let runs, let match = runs.match(UInt32(addressBits: key.addressBits)) { return match.value }
        return trie.longestMatch(key.addressBits)?.value
    }

    /// The longest prefix that covers an address and is shorter than `length` bits, or `nil`.
    ///
    /// Called again with each length found it visits all covering prefixes from the longest to the
    /// shortest, which is how the kernel backtracks from a route that it cannot use. Any `length` is
    /// allowed: nothing is shorter than 0, and above the maximum everything is.
    @inlinable
    package func longestMatch(_ key: Key, shorterThan length: Int) -> (length: Int, value: UInt32)? {
        trie.longestMatch(key.addressBits, shorterThan: length)
    }

    /// The value of the longest prefix that covers an address, where it is quickly found; see ``IPv4Runs/match(_:)``.
    @inline(__always)
    func quickMatch(_ key: UInt32) -> PrefixMatch? where Key == UInt32 {
        runs?.match(key)
    }

    /// The value of exactly this prefix, or `nil` when it is not in the table.
    @inlinable
    package func value(key: Key, length: Int) -> UInt32? {
        precondition(0...Key.maximumLength ~= length, "prefix length out of range")
        return trie.value(key.addressBits, length: length)
    }

    /// Adds a prefix, or replaces its value.
    ///
    /// - Returns: The value that was replaced, or `nil` when the prefix is new.
    @inlinable
    @discardableResult
    package mutating func insert(_ value: UInt32, key: Key, length: Int) -> UInt32? {
        precondition(0...Key.maximumLength ~= length, "prefix length out of range")
        let old = trie.insert(value, key.addressBits, length: length)
        if old != value, runs != nil { followChange(of: key, length: length) }
        return old
    }

    /// Removes a prefix.
    ///
    /// - Returns: The value that it had, or `nil` when it was not in the table.
    @inlinable
    @discardableResult
    package mutating func remove(key: Key, length: Int) -> UInt32? {
        precondition(0...Key.maximumLength ~= length, "prefix length out of range")
        let old = trie.remove(key.addressBits, length: length)
        if old != nil, runs != nil { followChange(of: key, length: length) }
        return old
    }

    /// Moves the table to storage that just fits, in the order of a walk.
    ///
    /// Takes time linear in the table. Call it after a bulk load, which is fastest in the order of the keys.
    /// A large IPv4 table is then looked up faster, until an eighth of what makes it large is gone.
    @usableFromInline
    package mutating func compact() {
        compact(withRunsFrom: 1 << 18)
    }

    /// The same for another size of a large table, which has all its slots: the runs take 2.6 MB at least.
    mutating func compact(withRunsFrom count: Int) {
        trie.compact()
        let isLarge = trie.count >= count && trie.rootBits == PrefixTrie.largestRoot
        runs = Key.maximumLength == 32 && isLarge ? IPv4Runs(trie, minimumCount: count - count / 8) : nil
    }

    /// Keeps the runs true, or gives them up.
    @usableFromInline
    mutating func followChange(of key: Key, length: Int) {
        if let minimum = runs?.minimumCount, count >= minimum {
            runs?.follow(trie, UInt32(addressBits: key.addressBits), length: length)
        } else {
            runs = nil
        }
    }

    /// Calls `body` with every prefix and its value, in no promised order.
    ///
    /// Linear in the table; allocates nothing.
    @inlinable
    package func forEachEntry(_ body: (_ key: Key, _ length: Int, _ value: UInt32) -> Void) {
        trie.forEachEntry { key, length, value in body(Key(addressBits: key), length, value) }
    }
}
