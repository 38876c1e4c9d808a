// SPDX-License-Identifier: Apache-2.0

/// The trie below ``PrefixTable``: four bits a step, bitmaps for what is there, and paths without forks
/// left out.
///
/// Everything lives in one array of 32-bit words. A *node* at offset `o` decides the bits `o` to `o + 3` of
/// the address and holds the prefixes of length `o + 1` to `o + 4`; the root holds length 0 as well.
///
/// ```
///  node      word 0   prefixes   31 ........................ 2  1  0
///                                bit h: the prefix with heap index h is there
///                                       (1 = the node itself, 2h and 2h + 1 = h followed by a 0 or a 1,
///                                        so bits 16 to 31 are the sixteen prefixes of full length)
///            word 1   info       31 .. 27 | 26 .. 21        | 20 .. 16     | 15 .. 0
///                                 unused  | slots: shortest | skip, in     | bit n: a child for
///                                         | match's length  | nibbles,     | nibble n is there
///                                         | + 1, or 0       | 0 to 31      |
///            word 2   base       index of a word in the middle of the node's block
///  slot      words 0 to 2 are a node, word 3 is the value of the best match above the slot
///
///  block     [ value n-1 ... value 1 | value 0 | path words | child 0 | child 1 ... | child m-1 ]
///                                              ^ base         each child is a node of three words
/// ```
///
/// Values stand in the order of their heap index and children in that of their nibble, so a rank is one
/// population count: value r is the word at `base - 1 - r`. A block of one word, which is a value, does not exist: the
/// value stands in the node, in place of the base. Every third prefix of a large IPv4 table is such. *Path words* are
/// the `skip` nibbles that every address below the node shares, eight nibbles a word, first nibble topmost. A node's
/// own offset counts from behind them. Skipping is what keeps IPv6 and small tables small.
///
/// ```
///  words     [ 16 masks | 84 free lists | root | pad | slots: 4 << (rootBits) words | blocks ... ]
///              0          16              100    103   104                            blocksStart
/// ```
///
/// Mask n has the bits of the five heap indexes on the way of nibble n: 1, and 2 to 31 once in each length.
/// A prefix of at most `rootBits` bits hangs below the root; its value is copied into the slots it covers
/// where nothing longer was copied. A longer one hangs below the slot that its first bits select, so that
/// a lookup starts there. `rootBits` grows with the table from 0 to 16.
@usableFromInline
struct PrefixTrie: Sendable {
    /// The masks, free lists, root, slots and blocks.
    var words: ContiguousArray<UInt32>
    /// The allocated words, counted from the front; what follows is room.
    var used: Int
    /// The words in free lists.
    var freeWords = 0
    /// The number of address bits that select a slot: 0, 8, 12 or 16.
    let rootBits: Int
    /// The number of prefixes.
    @usableFromInline var count = 0

    /// Makes an empty table.
    @usableFromInline
    init() {
        self.init(rootBits: 0, room: Self.roomForOneChange)
    }

    /// Makes an empty table with `1 << rootBits` slots and `room` words for blocks.
    init(rootBits: Int, room: Int) {
        self.rootBits = rootBits
        used = Self.firstSlot + 4 << rootBits
        words = ContiguousArray()
        words.reserveCapacity(used + room)
        words.append(contentsOf: repeatElement(0, count: used + room))
        for nibble in 0..<16 {
            for bits in 0...4 { words[nibble] |= 1 << ((16 | nibble) >> bits) }
        }
    }
}

extension PrefixTrie {
    /// The largest block: 31 values, the 4 words of a path of 31 nibbles, 16 children.
    static var largestBlock: Int { 31 + 4 + 48 }
    /// The most address bits that select a slot.
    static var largestRoot: Int { 16 }
    /// The index of the head of the free list for blocks of 0 words.
    static var freeLists: Int { 16 }
    /// The node that holds the prefixes of at most `rootBits` bits.
    static var root: Int { freeLists + largestBlock + 1 }
    /// The first slot; a multiple of four, so that a slot never crosses a cache line.
    static var firstSlot: Int { root + 4 }
    /// An upper bound of the words that one insertion or removal allocates: three blocks.
    static var roomForOneChange: Int { 3 * largestBlock }

    /// The word behind the last slot.
    var blocksStart: Int { Self.firstSlot + 4 << rootBits }

    /// The slot that an address belongs to.
    @inline(__always)
    func slot(of key: AddressBits) -> Int {
        // Two shifts, because a shift by 64 for `rootBits` 0 would wrap around.
        let number = (key.high &>> 1) &>> UInt64(truncatingIfNeeded: 63 &- rootBits)
        return Self.firstSlot &+ 4 &* Int(truncatingIfNeeded: number)
    }

    /// The bytes allocated: the array with its header, and the fields.
    var memoryFootprint: Int {
        words.capacity * MemoryLayout<UInt32>.stride + 32 + MemoryLayout<Self>.size
    }
}

/// The three words of a node, taken out.
struct PrefixTrieNode {
    /// Bit h: the prefix with heap index h is there.
    var prefixes: UInt32 = 0
    /// Bit n: the child for nibble n is there.
    var children: UInt32 = 0
    /// The nibbles that the path words hold, 0 to 31.
    var skip = 0
    /// The index of the first word behind the values.
    var base = 0

    /// The number of values.
    var valueCount: Int { prefixes.nonzeroBitCount }
    /// The number of children.
    var childCount: Int { children.nonzeroBitCount }
    /// The words that the path takes.
    var pathWords: Int { (skip + 7) / 8 }
    /// The index of the block's first word.
    var blockStart: Int { base - valueCount }
    /// The words of the block.
    var blockSize: Int { valueCount + pathWords + 3 * childCount }
    /// Whether there is one value and nothing else.
    var isValueAlone: Bool {
        prefixes != 0 && prefixes & (prefixes &- 1) == 0 && UInt32(truncatingIfNeeded: skip) | children == 0
    }
    /// Whether nothing is there, which happens to the root and to slots only.
    var isEmpty: Bool { prefixes | children == 0 }

    /// The index of the value of a heap index that is there.
    func value(_ position: Int) -> Int {
        base - 1 - (prefixes & (1 << position - 1)).nonzeroBitCount
    }

    /// The index of the child for a nibble, there or yet to come.
    func child(_ nibble: Int) -> Int {
        base + pathWords + 3 * (children & (1 << nibble - 1)).nonzeroBitCount
    }
}

extension PrefixTrieNode {
    /// Reads the three words of a node.
    @inline(__always)
    init(_ prefixes: UInt32, _ info: UInt32, _ base: UInt32) {
        self.init(
            prefixes: prefixes,
            children: info & 0xFFFF,
            skip: Int(truncatingIfNeeded: info >> 16 & 31),
            base: Int(truncatingIfNeeded: base)
        )
    }
}

extension PrefixTrie {
    /// The bits of word 1 that belong to the node; the others belong to the slot.
    static var nodeInfo: UInt32 { 0x1F_FFFF }
    /// The bits of word 1 that count the skipped nibbles.
    static var skipBits: UInt32 { 0x1F_0000 }
    /// Where a slot's word 1 keeps the length of the best match above it, plus one.
    static var shortLengthShift: UInt32 { 21 }

    /// Reads the node at an index; writing leaves a slot's own bits alone.
    ///
    /// What is written has a block of its own, never that of a node that was read.
    subscript(node index: Int) -> PrefixTrieNode {
        @inline(__always)
        get {
            var node = PrefixTrieNode(words[index], words[index + 1], words[index + 2])
            // Its block is its own third word.
            if node.isValueAlone { node.base = index + 3 }
            return node
        }
        @inline(__always)
        set {
            words[index] = newValue.prefixes
            words[index + 1] =
                words[index + 1] & ~Self.nodeInfo | UInt32(newValue.skip) << 16 | newValue.children
            let base = newValue.base
            words[index + 2] = newValue.isValueAlone ? takeValue(at: base - 1) : UInt32(base)
        }
    }

    /// The nibbles that a node skips, at the front.
    func path(of node: PrefixTrieNode) -> AddressBits {
        var path = AddressBits.zero
        for word in 0..<node.pathWords {
            let bits = AddressBits(high: UInt64(words[node.base + word]) << 32, low: 0)
            path = path | bits.movedBack(by: 32 * word)
        }
        return path
    }

    /// Stores the first `skip` nibbles of `path` as path words from `index` on.
    mutating func write(path: AddressBits, skip: Int, at index: Int) {
        var rest = path.keeping(4 * skip)
        for word in 0..<((skip + 7) / 8) {
            words[index + word] = UInt32(truncatingIfNeeded: rest.high >> 32)
            rest = rest.dropping(32)
        }
    }
}

/// The place of a prefix: the node that holds its length, and the heap index there.
struct PrefixPlace {
    /// The offset of the node.
    let offset: Int
    /// The heap index, 1 to 31.
    let position: Int

    /// Finds the place of a prefix.
    init(_ key: AddressBits, length: Int) {
        offset = max(length - 1, 0) & ~3
        let bits = length - offset
        position = 1 << bits | (length == 0 ? 0 : key.nibble(at: offset)) >> (4 - bits)
    }
}
