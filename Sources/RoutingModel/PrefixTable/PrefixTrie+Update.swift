// SPDX-License-Identifier: Apache-2.0

extension PrefixTrie {
    /// Adds a prefix or replaces its value, which is returned.
    @usableFromInline
    mutating func insert(_ value: UInt32, _ key: AddressBits, length: Int) -> UInt32? {
        let old = insertKeepingRoot(value, key, length: length)
        if old == nil { fitRoot() }
        return old
    }

    /// The same without a look at the number of slots.
    mutating func insertKeepingRoot(_ value: UInt32, _ key: AddressBits, length: Int) -> UInt32? {
        let old: UInt32?
        if length <= rootBits {
            old = insert(value, key, length: length, below: Self.root, offset: 0)
            updateSlots(key, length: length, (length, value))
        } else {
            old = insert(value, key, length: length, below: slot(of: key), offset: rootBits)
        }
        if old == nil { count += 1 }
        makeRoomForOneChange()
        return old
    }

    /// Removes a prefix and returns its value.
    @usableFromInline
    mutating func remove(_ key: AddressBits, length: Int) -> UInt32? {
        let old = removeKeepingRoot(key, length: length)
        if old != nil { fitRoot() }
        return old
    }

    /// The same without a look at the number of slots.
    mutating func removeKeepingRoot(_ key: AddressBits, length: Int) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        guard let found = locate(key, length: length, place),
            let old = removeValue(of: found.node, place.position)
        else { return nil }
        tidy(found.node, below: found.parent, found.nibble)
        if length <= rootBits {
            updateSlots(key, length: length, longestMatch(key, shorterThan: length))
        }
        count -= 1
        giveBackRoom()
        makeRoomForOneChange()
        return old
    }

    /// Walks down from the root or a slot, making the nodes that are missing.
    private mutating func insert(
        _ value: UInt32,
        _ key: AddressBits,
        length: Int,
        below start: Int,
        offset startOffset: Int
    ) -> UInt32? {
        let place = PrefixPlace(key, length: length)
        var index = start
        var offset = startOffset
        while true {
            var node = self[node: index]
            if node.isEmpty {
                makeLeaf(at: index, offset: offset, value, key, place)
                return nil
            }
            let rest = key.dropping(offset)
            let wanted = min(node.skip, (place.offset - offset) / 4)
            let shared = min(wanted, path(of: node).commonLength(with: rest) / 4)
            if shared < node.skip {
                fork(index, after: shared)
                node = self[node: index]
            }
            offset += 4 * shared
            if offset == place.offset { return setValue(of: index, place.position, value) }
            let nibble = key.nibble(at: offset)
            offset += 4
            if node.children & 1 << nibble == 0 {
                let child = makeChild(of: index, nibble)
                makeLeaf(at: child, offset: offset, value, key, place)
                return nil
            }
            index = node.child(nibble)
        }
    }

    /// Copies `match` into the slots below a short prefix, except where something longer stands.
    ///
    /// `match` is the prefix itself after it came, and the next shorter one after it went.
    private mutating func updateSlots(
        _ key: AddressBits,
        length: Int,
        _ match: (length: Int, value: UInt32)?
    ) {
        let first = slot(of: key.keeping(length))
        let field = UInt32((match?.length ?? -1) + 1) << Self.shortLengthShift
        for slot in stride(from: first, to: first + 4 << (rootBits - length), by: 4) {
            let info = words[slot + 1]
            guard Int(info >> Self.shortLengthShift) <= length + 1 else { continue }
            words[slot + 1] = info & Self.nodeInfo | field
            words[slot + 3] = match?.value ?? 0
        }
    }
}

extension PrefixTrie {
    /// Turns an empty node at `offset` into one with a single value, with the path that leads there.
    private mutating func makeLeaf(
        at index: Int,
        offset: Int,
        _ value: UInt32,
        _ key: AddressBits,
        _ place: PrefixPlace
    ) {
        var node = PrefixTrieNode(prefixes: 1 << place.position, skip: (place.offset - offset) / 4)
        let start = allocate(node.blockSize)
        words[start] = value
        node.base = start + 1
        write(path: key.dropping(offset), skip: node.skip, at: node.base)
        self[node: index] = node
    }

    /// Stores the value of a heap index and returns the one that it replaced.
    private mutating func setValue(of index: Int, _ position: Int, _ value: UInt32) -> UInt32? {
        var node = self[node: index]
        let bit: UInt32 = 1 << position
        if node.prefixes & bit != 0 {
            let old = words[node.value(position)]
            words[node.value(position)] = value
            return old
        }
        // A value of rank r stands r + 1 words before the base, so the new one goes right behind that.
        let gap = node.value(position) + 1
        let start = splice(node, at: gap, removing: 0, inserting: 1)
        words[start + gap - node.blockStart] = value
        node.prefixes |= bit
        node.base = start + node.valueCount
        self[node: index] = node
        return nil
    }

    /// Removes the value of a heap index and returns it, or `nil` when there is none.
    private mutating func removeValue(of index: Int, _ position: Int) -> UInt32? {
        var node = self[node: index]
        let bit: UInt32 = 1 << position
        guard node.prefixes & bit != 0 else { return nil }
        let old = words[node.value(position)]
        let start = splice(node, at: node.value(position), removing: 1, inserting: 0)
        node.prefixes &= ~bit
        node.base = start + node.valueCount
        self[node: index] = node
        return old
    }

    /// Adds an empty child and returns its index.
    private mutating func makeChild(of index: Int, _ nibble: Int) -> Int {
        var node = self[node: index]
        let start = splice(node, at: node.child(nibble), removing: 0, inserting: 3)
        node.children |= 1 << nibble
        node.base = start + node.valueCount
        self[node: index] = node
        let child = node.child(nibble)
        for word in child..<(child + 3) { words[word] = 0 }
        return child
    }

    /// Splits the path of a node: the first `kept` nibbles stay, the node itself moves to a child.
    private mutating func fork(_ index: Int, after kept: Int) {
        let node = self[node: index]
        let path = path(of: node)
        let nibble = path.nibble(at: 4 * kept)
        var upper = PrefixTrieNode(children: 1 << nibble, skip: kept)
        upper.base = allocate(upper.blockSize)
        write(path: path, skip: kept, at: upper.base)
        let child = upper.child(nibble)
        words[child + 1] = 0
        self[node: child] = replacePath(of: node, path.dropping(4 * kept + 4), skip: node.skip - kept - 1)
        self[node: index] = upper
    }
}

extension PrefixTrie {
    /// Brings a node back into shape after a value left: no node is empty, and none forks into one.
    private mutating func tidy(_ index: Int, below parent: Int?, _ nibble: Int) {
        let node = self[node: index]
        guard node.prefixes == 0 else { return }
        if node.childCount == 1 {
            joinOnlyChild(of: index)
        } else if node.childCount == 0 {
            release(node.blockStart, size: node.blockSize)
            self[node: index] = PrefixTrieNode()
            guard let parent else { return }
            removeChild(of: parent, nibble)
            let above = self[node: parent]
            if above.prefixes == 0, above.childCount == 1 { joinOnlyChild(of: parent) }
        }
    }

    /// Takes the three words of a child out of its parent's block.
    private mutating func removeChild(of index: Int, _ nibble: Int) {
        var node = self[node: index]
        let start = splice(node, at: node.child(nibble), removing: 3, inserting: 0)
        node.children &= ~(1 << nibble)
        node.base = start + node.valueCount
        self[node: index] = node
    }

    /// Puts the only child of a node without values in the place of the node.
    private mutating func joinOnlyChild(of index: Int) {
        let node = self[node: index]
        let nibble = node.children.trailingZeroBitCount
        let child = self[node: node.child(nibble)]
        let step = AddressBits(high: UInt64(nibble) << 60, low: 0).movedBack(by: 4 * node.skip)
        let below = path(of: child).movedBack(by: 4 * node.skip + 4)
        let joined = path(of: node) | step | below
        self[node: index] = replacePath(of: child, joined, skip: node.skip + 1 + child.skip)
        release(node.blockStart, size: node.blockSize)
    }
}
