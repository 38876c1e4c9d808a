// SPDX-License-Identifier: Apache-2.0

/// Blocks are allocated in their exact size, from a free list of that size or from the room at the end. A
/// free block's first word is the index of the next one. Nothing but a node points to a block, and nothing
/// but a block or a slot holds a node, so the whole table can be moved in one walk.
extension PrefixTrie {
    /// Takes a block from its free list or from the room, which `makeRoomForOneChange()` provides.
    mutating func allocate(_ size: Int) -> Int {
        guard size > 0 else { return used }
        let head = Int(words[Self.freeLists + size])
        if head != 0 {
            words[Self.freeLists + size] = words[head]
            freeWords -= size
            return head
        }
        let start = used
        used += size
        return start
    }

    /// Puts a block into the free list of its size.
    ///
    /// One of a single word is in a node, and there is nothing to free.
    mutating func release(_ start: Int, size: Int) {
        guard size > 1 else { return }
        free(start, size: size)
    }

    /// Takes the value out of a new block of one word, for the node to which it belongs.
    mutating func takeValue(at start: Int) -> UInt32 {
        let value = words[start]
        free(start, size: 1)
        return value
    }

    private mutating func free(_ start: Int, size: Int) {
        words[start] = words[Self.freeLists + size]
        words[Self.freeLists + size] = UInt32(start)
        freeWords += size
    }

    /// Copies a node's block into a new one and frees the old one.
    ///
    /// At `index`, `removing` words come out and `inserting` words are left open. Returns the new start.
    mutating func splice(_ node: PrefixTrieNode, at index: Int, removing: Int, inserting: Int) -> Int {
        let oldStart = node.blockStart
        let size = node.blockSize
        let start = allocate(size + inserting - removing)
        let before = index - oldStart
        copy(before, from: oldStart, to: start)
        copy(size - before - removing, from: index + removing, to: start + before + inserting)
        release(oldStart, size: size)
        return start
    }

    /// Copies a node's block into a new one with another path, and frees the old one.
    ///
    /// - Returns: The node with its new base.
    mutating func replacePath(of node: PrefixTrieNode, _ path: AddressBits, skip: Int) -> PrefixTrieNode {
        var moved = node
        moved.skip = skip
        let start = allocate(moved.blockSize)
        moved.base = start + node.valueCount
        copy(node.valueCount, from: node.blockStart, to: start)
        write(path: path, skip: skip, at: moved.base)
        let children = moved.base + moved.pathWords
        copy(3 * node.childCount, from: node.base + node.pathWords, to: children)
        release(node.blockStart, size: node.blockSize)
        return moved
    }

    /// Copies words between blocks that do not overlap.
    @inline(__always)
    private mutating func copy(_ count: Int, from source: Int, to target: Int) {
        words.withUnsafeMutableBufferPointer { words in
            for word in 0..<count { words[target + word] = words[source + word] }
        }
    }
}

extension PrefixTrie {
    /// Makes sure that the next insertion or removal finds room, so that no index changes during it.
    ///
    /// Called after each change: a change that turns out to be none then needs no room and copies nothing.
    /// When the room is used up there comes a quarter of what is in use. Where an eighth of the words is in free
    /// lists the table moves, which tidies it, else it grows as it lies. Either way the next time is at least
    /// an eighth of the table away.
    @inline(__always)
    mutating func makeRoomForOneChange() {
        if words.count - used < Self.roomForOneChange { makeRoom() }
    }

    @inline(never)
    private mutating func makeRoom() {
        if freeWords > used / 8 { move(room: roomToGrow) } else { grow(by: roomToGrow) }
    }

    /// Moves all words as they lie to storage with more room.
    private mutating func grow(by room: Int) {
        let size = used + room
        precondition(size <= Int(UInt32.max), "a table of more than 2^32 words")
        // A new array, because `append` on this one would make it twice as large.
        var larger = ContiguousArray<UInt32>()
        larger.reserveCapacity(size)
        larger.append(contentsOf: words[..<used])
        larger.append(contentsOf: repeatElement(0, count: room))
        words = larger
    }

    /// Gives storage back when more than half of it is unused.
    mutating func giveBackRoom() {
        let live = used - freeWords
        if words.count > 2 * live + 8 * Self.roomForOneChange { move(room: roomToGrow) }
    }

    /// Moves to storage with room for a single change.
    @usableFromInline
    mutating func compact() {
        move(room: Self.roomForOneChange)
    }

    /// A quarter of what is in use, and enough for a few changes in a small table.
    private var roomToGrow: Int { (used - freeWords) / 4 + 2 * Self.roomForOneChange }

    /// Copies root, slots and blocks into new storage, in the order of a walk and without gaps.
    private mutating func move(room: Int) {
        let live = used - freeWords
        precondition(live + room <= Int(UInt32.max), "a table of more than 2^32 words")
        var target = PrefixTrie(rootBits: rootBits, room: live - blocksStart + room)
        target.count = count
        for word in Self.root..<blocksStart { target.words[word] = words[word] }
        let (blocksStart, start) = (blocksStart, target.used)
        target.used = words.withUnsafeBufferPointer { source in
            target.words.withUnsafeMutableBufferPointer { words in
                var mover = BlockMover(source: source, words: words, used: start)
                mover.copyBlock(of: Self.root)
                for slot in stride(from: Self.firstSlot, to: blocksStart, by: 4) {
                    mover.copyBlock(of: slot)
                }
                return mover.used
            }
        }
        self = target
    }
}

/// Copies blocks from one storage into another.
private struct BlockMover {
    let source: UnsafeBufferPointer<UInt32>
    let words: UnsafeMutableBufferPointer<UInt32>
    /// The allocated words of the target.
    var used: Int

    /// Copies what hangs below a node that still has the base it had in `source`.
    ///
    /// It calls itself once a level, at most 32 deep.
    mutating func copyBlock(of index: Int) {
        let node = PrefixTrieNode(words[index], words[index + 1], words[index + 2])
        guard !node.isEmpty, !node.isValueAlone else { return }
        let oldStart = node.blockStart
        let start = used
        let size = node.blockSize
        used += size
        for word in 0..<size { words[start + word] = source[oldStart + word] }
        let base = start + node.valueCount
        words[index + 2] = UInt32(base)
        let children = base + node.pathWords
        for child in stride(from: children, to: children + 3 * node.childCount, by: 3) {
            copyBlock(of: child)
        }
    }
}

extension PrefixTrie {
    /// Changes the number of slots when the number of prefixes asks for it.
    ///
    /// A slot takes 16 bytes. The root grows when there are at least two prefixes a slot, so slots cost 8
    /// bytes a prefix at most, and shrinks when there are four slots a prefix.
    mutating func fitRoot() {
        let larger = rootBits == 0 ? 8 : rootBits + 4
        let smaller = rootBits == 8 ? 0 : rootBits - 4
        if larger <= Self.largestRoot, count >= 2 << larger {
            rebuild(rootBits: larger)
        } else if rootBits > 0, count < 1 << (rootBits - 2) {
            rebuild(rootBits: smaller)
        }
    }

    /// Inserts every entry into a new trie.
    private mutating func rebuild(rootBits: Int) {
        let live = used - freeWords
        var target = PrefixTrie(rootBits: rootBits, room: live)
        forEachEntry { key, length, value in
            _ = target.insertKeepingRoot(value, key, length: length)
        }
        self = target
    }
}
