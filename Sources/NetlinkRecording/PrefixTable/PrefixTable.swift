// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A map from the prefixes of one family to values.
///
/// It finds the longest prefix that contains an address.
///
/// ```
/// var table = PrefixTable<Int>(.v4)
/// table.insert(7, at: prefix)                              // 10.0.0.0/8
/// table.longestMatch(IPAddress(10, 1, 2, 3))               // (length: 8, value: 7)
/// ```
///
/// A prefix has one value. The owner chains values that share a prefix.
///
/// The table is a trie with four bits per step. A ``PrefixNode`` exists where prefixes end or paths fork, so a path
/// without forks has no nodes. The values of a node are stored next to each other, and so are its children, each in
/// the order of their bits. The rank of an element is a population count.
///
/// A lookup visits at most eight nodes for IPv4 and 32 for IPv6, and allocates no memory. A change moves the values
/// or the children of one or two nodes. A copy costs nothing until one side changes; the change then copies the
/// storage once.
///
/// A prefix of the other family is a programmer error. The kernel's counterpart is one FIB table: `fib_trie` for IPv4,
/// `ip6_fib` for IPv6.
package struct PrefixTable<Value: Sendable>: Sendable {
    /// The family of the prefixes.
    let family: IPAddress.Family
    /// The nodes.
    ///
    /// The first one is the root, which never moves.
    private var nodes = BlockPool(PrefixNode())
    private var values = BlockPool<Value>()
    /// The number of prefixes.
    package private(set) var count = 0

    /// Creates an empty table.
    package init(_ family: IPAddress.Family) {
        self.family = family
    }

    /// The allocated bytes, including unused capacity.
    ///
    /// Copies that share their storage report the same bytes.
    package var memoryFootprint: Int { nodes.memoryFootprint + values.memoryFootprint }
}

// MARK: - Reading

extension PrefixTable {
    /// Returns the longest prefix that contains an address and is shorter than a limit; `nil` if there is none.
    ///
    /// If each length is passed as the next limit, the calls visit all matching prefixes from the longest to the
    /// shortest. The kernel backtracks in this order from a route that it cannot use.
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

    /// Returns the value of exactly this prefix; `nil` if the prefix is not in the table.
    package func value(at prefix: IPPrefix) -> Value? {
        let place = PrefixPlace(prefix)
        return find(place).map { values[nodes[$0.node].value(place.position)] }
    }

    /// Finds the node of a prefix that is in the table, and the node's parent.
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

    /// Calls the body with every prefix and its value.
    ///
    /// A prefix comes before the prefixes that it contains.
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
    /// - Returns: The replaced value; `nil` if the prefix is new.
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

    /// Returns the index of the node of a place.
    ///
    /// Creates the node if it does not exist.
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

    /// Replaces a node by a node with fewer shared bits, and makes it a child of that node.
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
    /// - Returns: The value of the prefix; `nil` if the prefix was not in the table.
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

    /// Replaces a node without prefixes by its only child.
    private mutating func join(_ index: Int) {
        let node = nodes[index]
        guard index != 0, node.prefixes == 0, node.children.nonzeroBitCount == 1 else { return }
        nodes[index] = nodes[Int(node.firstChild)]
        nodes.release(node.childBlock)
    }
}

/// The place of a prefix: the offset of its node, and its position in the node.
private struct PrefixPlace {
    /// The bits of the prefix, followed by zeros.
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

// MARK: - Nodes

/// A node of a ``PrefixTable``: the prefixes that end within four bits, and the children.
///
/// A node at offset `o` contains the prefixes of length `o + 1` to `o + 4`. The root, at offset 0, also contains the
/// prefix of length 0. The position of a prefix is a heap index: 1 is the node itself, and 2h and 2h + 1 are h
/// followed by a 0 or a 1. So 16 to 31 are the prefixes of full length.
struct PrefixNode: Sendable {
    /// The number of bits per step.
    static let step = 4

    /// The common first bits of the node and all nodes below it, followed by zeros.
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

    /// The bits of an address that select a position or child in the node.
    func group(of bits: UInt128) -> Int {
        bits.group(at: offset)
    }

    /// The position of the longest prefix that matches a group of bits and is shorter than a limit; `nil` if there is
    /// none.
    func longestMatch(_ group: Int, shorterThan limit: Int) -> Int? {
        guard prefixes != 0 else { return nil }
        // A prefix with one bit less is at half the position.
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

    /// The index of the value for a position, whether it exists or is to be inserted.
    func value(_ position: Int) -> Int {
        Int(firstValue) + (prefixes & (1 &<< UInt32(position) - 1)).nonzeroBitCount
    }

    /// The indices of all values.
    var values: Range<Int> {
        Int(firstValue)..<Int(firstValue) + prefixes.nonzeroBitCount
    }

    /// The index of the child for a group of bits; `nil` if there is none.
    func child(_ group: Int) -> Int? {
        children &>> UInt16(group) & 1 != 0 ? childIndex(group) : nil
    }

    /// The index of the child for a group of bits, whether it exists or is to be inserted.
    func childIndex(_ group: Int) -> Int {
        Int(firstChild) + (children & (1 &<< UInt16(group) - 1)).nonzeroBitCount
    }

    /// The indices of all children.
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

    /// The number of bits that a position adds to those of the node.
    private static func bitCount(_ position: Int) -> Int {
        Int.bitWidth - 1 - position.leadingZeroBitCount
    }
}

// MARK: - Bits

extension UInt128 {
    /// The bits that select a position in a node at an offset, padded with zeros after the last bit.
    func group(at offset: Int) -> Int {
        Int(truncatingIfNeeded: (self &<< UInt128(offset)) &>> UInt128(128 - PrefixNode.step))
    }

    /// The first `count` bits, followed by zeros.
    func keeping(_ count: Int) -> UInt128 {
        count == 0 ? 0 : self & (.max &<< UInt128(128 - count))
    }
}

extension IPAddress {
    /// The address as a number whose highest bit is the first bit of the address.
    var topBits: UInt128 { family == .v4 ? bits &<< 96 : bits }

    /// Creates an address from the first bits of a number.
    init(topBits: UInt128, _ family: Family) {
        self.init(family: family, bits: family == .v4 ? topBits >> 96 : topBits)
    }
}

// MARK: - Storage

/// An array of elements in blocks that grow and shrink by one element.
///
/// A block moves when its size changes.
///
/// Unused blocks are stored by size, and reused for blocks of that size.
struct BlockPool<Element: Sendable>: Sendable {
    private var elements: ContiguousArray<Element>
    /// The starts of the unused blocks of each size.
    private var unused: [[UInt32]] = []

    /// Creates a pool whose first block has some elements, from index 0 on.
    init(_ first: Element...) {
        elements = ContiguousArray(first)
    }

    /// The allocated bytes.
    var memoryFootprint: Int {
        unused.reduce(elements.capacity * MemoryLayout<Element>.stride) { $0 + 32 + $1.capacity * 4 }
    }

    subscript(index: Int) -> Element {
        _read { yield elements[index] }
        _modify { yield &elements[index] }
    }

    /// Inserts an element before an index of a block, or at its end.
    ///
    /// - Returns: The new index of the block.
    mutating func insert(_ element: Element, at index: Int, block: Range<Int>) -> UInt32 {
        let start = reserve(block.count + 1, filledWith: element)
        move(block.lowerBound..<index, to: start)
        move(index..<block.upperBound, to: start + index - block.lowerBound + 1)
        elements[start + index - block.lowerBound] = element
        release(block)
        return UInt32(start)
    }

    /// Removes an element of a block.
    ///
    /// - Returns: The new index of the block.
    mutating func remove(at index: Int, block: Range<Int>) -> UInt32 {
        guard block.count > 1 else {
            release(block)
            return 0
        }
        let start = reserve(block.count - 1, filledWith: elements[index])
        move(block.lowerBound..<index, to: start)
        move(index + 1..<block.upperBound, to: start + index - block.lowerBound)
        release(block)
        return UInt32(start)
    }

    /// Stores a block so that it is reused for a block of its size.
    mutating func release(_ block: Range<Int>) {
        guard !block.isEmpty else { return }
        while unused.count <= block.count { unused.append([]) }
        unused[block.count].append(UInt32(block.lowerBound))
    }

    private mutating func reserve(_ size: Int, filledWith element: Element) -> Int {
        if size < unused.count, let start = unused[size].popLast() { return Int(start) }
        elements.append(contentsOf: repeatElement(element, count: size))
        return elements.count - size
    }

    private mutating func move(_ range: Range<Int>, to start: Int) {
        for (offset, index) in range.enumerated() { elements[start + offset] = elements[index] }
    }
}
