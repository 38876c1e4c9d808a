// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A map from prefixes to numbers that finds the longest prefix covering an address.
///
/// ```swift
/// var table = PrefixTable<UInt32>()
/// table.insert(7, key: 0x0A00_0000, length: 8)             // 10.0.0.0/8
/// table.longestMatch(0x0A01_0203)                          // (length: 8, value: 7)
/// ```
///
/// A prefix has one value. The owner chains what shares a prefix. All 2^32 values are allowed. Bits of a key behind the
/// prefix length are ignored, so 10.1.2.3/8 is 10.0.0.0/8.
///
/// The table is a trie with four bits a step. A ``PrefixNode`` exists where prefixes end or paths fork, so a path
/// without forks has no nodes. The values of a node lie side by side, and so do its children, each in the order of
/// their bits; the rank of one is a population count.
///
/// A lookup visits at most eight nodes for IPv4 and 32 for IPv6, and allocates nothing. A change moves the values or
/// the children of one or two nodes. A copy costs nothing until one side changes, which then copies the storage once.
///
/// A length outside 0 to `Key.maximumLength` is a programmer error and traps. The kernel's counterpart is one FIB
/// table: `fib_trie` for IPv4, `ip6_fib` for IPv6.
package struct PrefixTable<Key: PrefixKey>: Sendable {
    /// The nodes, with the root as the first one, which never moves.
    private var nodes = BlockPool(PrefixNode<Key>())
    private var values = BlockPool<UInt32>()
    /// The number of prefixes.
    package private(set) var count = 0

    /// Creates an empty table.
    package init() {}

    /// The bytes allocated: capacity, not only what is in use.
    ///
    /// Copies that share their storage report the same bytes.
    package var memoryFootprint: Int { nodes.memoryFootprint + values.memoryFootprint }
}

// MARK: - Reading

extension PrefixTable {
    /// Returns the longest prefix that covers an address and is shorter than a limit; `nil` if there is none.
    ///
    /// With each length found as the next limit, calls visit all covering prefixes from the longest to the shortest.
    /// The kernel backtracks in this order from a route that it cannot use.
    package func longestMatch(
        _ key: Key,
        shorterThan limit: Int = .max
    ) -> (length: Int, value: UInt32)? {
        let bits = key.addressBits
        var best: (node: PrefixNode<Key>, position: Int)?
        var index: Int? = 0
        while let current = index {
            let node = nodes[current]
            guard node.covers(bits) else { break }
            let nibble = node.nibble(of: bits)
            let found = node.matches(nibble, shorterThan: limit)
            if found != 0 { best = (node, 31 - found.leadingZeroBitCount) }
            index = node.child(nibble)
        }
        guard let best else { return nil }
        return (best.node.length(ofPosition: best.position), values[best.node.value(best.position)])
    }

    /// Returns the value of exactly this prefix; `nil` if it is not in the table.
    package func value(key: Key, length: Int) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        return find(place).map { values[nodes[$0.node].value(place.position)] }
    }

    /// Finds the node of a prefix that is in the table, and the parent of the node.
    private func find(_ place: PrefixPlace<Key>) -> (node: Int, parent: Int)? {
        var (index, parent) = (0, 0)
        while nodes[index].offset < place.offset, nodes[index].covers(place.bits),
            let child = nodes[index].child(nodes[index].nibble(of: place.bits))
        {
            (index, parent) = (child, index)
        }
        let node = nodes[index]
        let isThere = node.offset == place.offset && node.covers(place.bits) && node.has(place.position)
        return isThere ? (index, parent) : nil
    }

    /// Calls the body with every prefix and its value, a prefix before those that it covers.
    package func forEachEntry(_ body: (_ key: Key, _ length: Int, _ value: UInt32) -> Void) {
        var stack = [0]
        while let index = stack.popLast() {
            let node = nodes[index]
            for position in 1..<32 where node.has(position) {
                body(
                    node.key(ofPosition: position), node.length(ofPosition: position),
                    values[node.value(position)])
            }
            stack.append(contentsOf: (0..<16).reversed().compactMap(node.child))
        }
    }
}

// MARK: - Writing

extension PrefixTable {
    /// Adds a prefix, or replaces its value.
    ///
    /// - Returns: The value that was replaced; `nil` if the prefix is new.
    @discardableResult
    package mutating func insert(_ value: UInt32, key: Key, length: Int) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        let index = makeNode(place)
        let node = nodes[index]
        let old = node.value(place.position)
        if node.has(place.position) {
            defer { values[old] = value }
            return values[old]
        }
        nodes[index].firstValue = values.insert(value, at: old, block: node.values)
        nodes[index].prefixes |= 1 << UInt32(place.position)
        count += 1
        return nil
    }

    /// Returns the index of the node of a place, which is made if it is missing.
    private mutating func makeNode(_ place: PrefixPlace<Key>) -> Int {
        var index = 0
        while true {
            let node = nodes[index]
            let shared = min(
                node.key.addressBits.commonLength(with: place.bits) & ~3, node.offset, place.offset)
            if shared < node.offset { fork(index, at: shared) }
            if shared == place.offset { return index }
            let nibble = nodes[index].nibble(of: place.bits)
            guard let child = nodes[index].child(nibble) else {
                return addChild(PrefixNode(place.bits, offset: place.offset), nibble, to: index)
            }
            index = child
        }
    }

    /// Puts a node with fewer shared bits in the place of a node, which becomes its child.
    private mutating func fork(_ index: Int, at offset: Int) {
        let old = nodes[index]
        nodes[index] = PrefixNode(old.key.addressBits, offset: offset)
        _ = addChild(old, nodes[index].nibble(of: old.key.addressBits), to: index)
    }

    /// Returns the index of the new child.
    private mutating func addChild(_ child: PrefixNode<Key>, _ nibble: Int, to index: Int) -> Int {
        let parent = nodes[index]
        let position = parent.childIndex(nibble)
        let first = nodes.insert(child, at: position, block: parent.childBlock)
        nodes[index].firstChild = first
        nodes[index].children |= 1 << UInt16(nibble)
        return nodes[index].childIndex(nibble)
    }

    /// Removes a prefix.
    ///
    /// - Returns: The value that it had; `nil` if it was not in the table.
    @discardableResult
    package mutating func remove(key: Key, length: Int) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        guard let (index, parent) = find(place) else { return nil }
        let node = nodes[index]
        let value = values[node.value(place.position)]
        nodes[index].firstValue = values.remove(at: node.value(place.position), block: node.values)
        nodes[index].prefixes &= ~(1 << UInt32(place.position))
        count -= 1
        if count == 0 {
            self = PrefixTable()
        } else if index != 0, nodes[index].prefixes == 0, node.children == 0 {
            removeChild(node, index, of: parent)
            join(parent)
        } else {
            join(index)
        }
        return value
    }

    private mutating func removeChild(_ child: PrefixNode<Key>, _ index: Int, of parentIndex: Int) {
        let parent = nodes[parentIndex]
        nodes[parentIndex].firstChild = nodes.remove(at: index, block: parent.childBlock)
        nodes[parentIndex].children &= ~(1 << UInt16(parent.nibble(of: child.key.addressBits)))
    }

    /// Puts the only child of a node without prefixes in the place of the node.
    private mutating func join(_ index: Int) {
        let node = nodes[index]
        guard index != 0, node.prefixes == 0, node.children.nonzeroBitCount == 1 else { return }
        nodes[index] = nodes[Int(node.firstChild)]
        nodes.release(node.childBlock)
    }
}

/// The place of a prefix: the offset of its node, and its position there.
private struct PrefixPlace<Key: PrefixKey> {
    /// The bits of the prefix, and zeros behind them.
    let bits: AddressBits
    /// The offset of the node.
    let offset: Int
    /// The heap index, 1 to 31.
    let position: Int

    init(_ key: Key, length: Int) {
        precondition(0...Key.maximumLength ~= length, "prefix length out of range")
        bits = key.addressBits.keeping(length)
        offset = max(length - 1, 0) & ~3
        let rest = length - offset
        position = 1 << rest | bits.nibble(at: offset) >> (4 - rest)
    }
}
