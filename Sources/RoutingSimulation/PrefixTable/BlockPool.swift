// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// An array of elements in blocks that grow and shrink by one element, each moving to another place then.
///
/// Unused blocks are kept by their size for the next one of that size.
struct BlockPool<Element: Sendable>: Sendable {
    private var elements: ContiguousArray<Element>
    /// The starts of the unused blocks of each size.
    private var unused: [[UInt32]] = []

    /// Creates a pool with a first block of some elements, from index 0 on.
    init(_ first: Element...) {
        elements = ContiguousArray(first)
    }

    /// The bytes allocated.
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

    /// Keeps a block for another one of its size.
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
