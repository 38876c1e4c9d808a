// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A map from the prefixes of one family to values that finds the longest prefix covering an address.
///
/// ```swift
/// var table = PrefixTable<Int>(.v4)
/// table.insert(7, at: prefix)                              // 10.0.0.0/8
/// table.longestMatch(IPAddress(10, 1, 2, 3))               // (length: 8, value: 7)
/// ```
///
/// A prefix has one value. The owner chains what shares a prefix.
///
/// The table is a trie with four bits a step. A ``PrefixNode`` exists where prefixes end or paths fork, so a path
/// without forks has no nodes. The values of a node lie side by side, and so do its children, each in the order of
/// their bits; the rank of one is a population count.
///
/// A lookup visits at most eight nodes for IPv4 and 32 for IPv6, and allocates nothing. A change moves the values or
/// the children of one or two nodes. A copy costs nothing until one side changes, which then copies the storage once.
///
/// A prefix of the other family is a programmer error. The kernel's counterpart is one FIB table: `fib_trie` for IPv4,
/// `ip6_fib` for IPv6.
package struct PrefixTable<Value: Sendable>: Sendable {
    /// The family of the prefixes.
    let family: IPAddress.Family
    /// The nodes, with the root as the first one, which never moves.
    private var nodes = BlockPool(PrefixNode())
    private var values = BlockPool<Value>()
    /// The number of prefixes.
    package private(set) var count = 0

    /// Creates an empty table.
    package init(_ family: IPAddress.Family) {
        self.family = family
    }

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
        _ address: IPAddress,
        shorterThan limit: Int = .max
    ) -> (length: Int, value: Value)? {
        let bits = address.topBits
        var best: (node: PrefixNode, position: Int)?
        var index: Int? = 0
        while let current = index {
            let node = nodes[current]
            guard node.covers(bits) else { break }
            let group = node.group(of: bits)
            if let position = node.longestMatch(group, shorterThan: limit) {
                best = (node, position)
            }
            index = node.child(group)
        }
        guard let best else { return nil }
        return (best.node.length(ofPosition: best.position), values[best.node.value(best.position)])
    }

    /// Returns the value of exactly this prefix; `nil` if it is not in the table.
    package func value(at prefix: IPPrefix) -> Value? {
        let place = PrefixPlace(prefix)
        return find(place).map { values[nodes[$0.node].value(place.position)] }
    }

    /// Finds the node of a prefix that is in the table, and the parent of the node.
    private func find(_ place: PrefixPlace) -> (node: Int, parent: Int)? {
        var (index, parent) = (0, 0)
        while nodes[index].offset < place.offset, nodes[index].covers(place.bits),
            let child = nodes[index].child(nodes[index].group(of: place.bits))
        {
            (index, parent) = (child, index)
        }
        let node = nodes[index]
        let isThere = node.offset == place.offset && node.covers(place.bits) && node.has(place.position)
        return isThere ? (index, parent) : nil
    }

    /// Calls the body with every prefix and its value, a prefix before those that it covers.
    package func forEachEntry(_ body: (_ prefix: IPPrefix, _ value: Value) -> Void) {
        var stack = [0]
        while let index = stack.popLast() {
            let node = nodes[index]
            for position in 1..<(2 << PrefixNode.step) where node.has(position) {
                let address = IPAddress(topBits: node.bits(ofPosition: position), family)
                let prefix = IPPrefix(address, length: node.length(ofPosition: position))
                if let prefix { body(prefix, values[node.value(position)]) }
            }
            stack += node.childBlock.reversed()
        }
    }
}

// MARK: - Writing

extension PrefixTable {
    /// Adds a prefix, or replaces its value.
    ///
    /// - Returns: The value that was replaced; `nil` if the prefix is new.
    @discardableResult
    package mutating func insert(_ value: Value, at prefix: IPPrefix) -> Value? {
        let place = PrefixPlace(prefix)
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
    private mutating func makeNode(_ place: PrefixPlace) -> Int {
        var index = 0
        while true {
            let node = nodes[index]
            let common = (node.key ^ place.bits).leadingZeroBitCount
            let shared = min(common - common % PrefixNode.step, node.offset, place.offset)
            if shared < node.offset { fork(index, at: shared) }
            if shared == place.offset { return index }
            let group = nodes[index].group(of: place.bits)
            guard let child = nodes[index].child(group) else {
                return addChild(PrefixNode(place.bits, offset: place.offset), group, to: index)
            }
            index = child
        }
    }

    /// Puts a node with fewer shared bits in the place of a node, which becomes its child.
    private mutating func fork(_ index: Int, at offset: Int) {
        let old = nodes[index]
        nodes[index] = PrefixNode(old.key, offset: offset)
        _ = addChild(old, nodes[index].group(of: old.key), to: index)
    }

    /// Returns the index of the new child.
    private mutating func addChild(_ child: PrefixNode, _ group: Int, to index: Int) -> Int {
        let parent = nodes[index]
        let first = nodes.insert(child, at: parent.childIndex(group), block: parent.childBlock)
        nodes[index].firstChild = first
        nodes[index].children |= 1 << UInt16(group)
        return nodes[index].childIndex(group)
    }

    /// Removes a prefix.
    ///
    /// - Returns: The value that it had; `nil` if it was not in the table.
    @discardableResult
    package mutating func remove(_ prefix: IPPrefix) -> Value? {
        let place = PrefixPlace(prefix)
        guard let (index, parent) = find(place) else { return nil }
        let node = nodes[index]
        let value = values[node.value(place.position)]
        nodes[index].firstValue = values.remove(at: node.value(place.position), block: node.values)
        nodes[index].prefixes &= ~(1 << UInt32(place.position))
        count -= 1
        if count == 0 {
            self = PrefixTable(family)
        } else if index != 0, nodes[index].prefixes == 0, node.children == 0 {
            removeChild(node, index, of: parent)
            join(parent)
        } else {
            join(index)
        }
        return value
    }

    private mutating func removeChild(_ child: PrefixNode, _ index: Int, of parentIndex: Int) {
        let parent = nodes[parentIndex]
        nodes[parentIndex].firstChild = nodes.remove(at: index, block: parent.childBlock)
        nodes[parentIndex].children &= ~(1 << UInt16(parent.group(of: child.key)))
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
private struct PrefixPlace {
    /// The bits of the prefix, and zeros behind them.
    let bits: UInt128
    /// The offset of the node.
    let offset: Int
    /// The heap index, at least 1.
    let position: Int

    init(_ prefix: IPPrefix) {
        let last = max(prefix.length - 1, 0)
        bits = prefix.address.topBits
        offset = last - last % PrefixNode.step
        let rest = prefix.length - offset
        position = 1 << rest | bits.group(at: offset) >> (PrefixNode.step - rest)
    }
}
