// SPDX-License-Identifier: Apache-2.0

/// What a large IPv4 table is asked first: the value of the longest prefix over each /24, in two loads from memory.
///
/// A *unit* is a /24 and a *slot* a /16, so that a slot has 256 units. Neighbouring units of a slot with equal
/// answers are one *run*. Where runs begin is a bitmap, whose population count leads to the run's *code*, and the code
/// to the value:
///
/// ```
///  words     [ 256 values | slot 0 | slot 1 | ... | slot 65,535 ]
///  value     bits 0 to 31: the value; bit 32: there is one; bit 33: the trie must be asked
///  slot      word 0        63 .. 56 | 55 .. 48 | 47 .. 40 | 39 .. 32 | 31 .. 24       | 23 .. 0
///                          runs before quarter:           |          | code of what   | place of the first
///                          3        | 2        | 1        | 0: zero  | covers the slot| code, divided by 4
///            words 1 to 4  bit u: a run begins at unit u of the quarter; never set for the first unit of the slot
///  codes     [ 4 unused | codes of a slot's first run, of its second ... | those of another slot ... ]
/// ```
///
/// Nothing here has a length: a code stands for the value alone, and a route of a million is one of few values. Code
/// 0 is what covers the whole slot, so that a change of a short prefix touches no run. Code 255 leads to the trie: the
/// unit has longer prefixes than 24, or the value found no code.
///
/// It is a copy of what a ``PrefixTrie`` holds, 4.6 bytes per route of a million, and follows its changes. A change
/// of a prefix longer than 16 makes the runs of its slot again.
@usableFromInline
struct IPv4Runs: Sendable {
    /// The values of the codes, and the slots.
    @usableFromInline var words: ContiguousArray<UInt64>
    /// The codes of the runs of all slots.
    @usableFromInline var codes: ContiguousArray<UInt8> = []
    /// The codes of the units of the slot that is made, kept so that a change allocates nothing.
    private var units = ContiguousArray<UInt8>(repeating: 0, count: Self.unitCount)
    /// The places in `codes` that no slot uses.
    private var unusedCodes = 0
    /// The changes since all runs were made.
    private var changes = 0
    /// Whether a value found no code.
    private var isCrowded = false
    /// The number of prefixes below which it is not worth its memory.
    let minimumCount: Int

    private static var unitCount: Int { 256 }
    private static var slotCount: Int { 1 << 16 }
    @inlinable static var slotWords: Int { 5 }
    @inlinable static var firstSlot: Int { 256 }
    /// The code of what is not decided here.
    private static var undecided: UInt8 { 255 }

    /// Copies a trie with all its slots.
    init(_ trie: PrefixTrie, minimumCount: Int) {
        self.minimumCount = minimumCount
        words = ContiguousArray(repeating: 0, count: Self.firstSlot + Self.slotCount * Self.slotWords)
        remake(trie)
    }

    /// The bytes allocated.
    var memoryFootprint: Int {
        words.capacity * MemoryLayout<UInt64>.stride + codes.capacity + units.capacity
    }
}

extension IPv4Runs {
    /// Set in the word of what only the trie decides.
    @inlinable static var undecidedWord: UInt64 { 1 << 33 }

    /// The value of the longest prefix over an address; `nil` where the trie must be asked.
    ///
    /// No branch depends on the prefixes before the value is there, so that a processor starts the next lookup while
    /// this one waits for memory. The buffers are read without bounds checks for the same reason. Every index is in
    /// bounds: a slot's and a quarter's by the shifts that make them, a code's because the bitmap has one bit per code
    /// of the slot after the first, and a value's because a code is below 256.
    @inlinable
    @inline(__always)
    func match(_ key: UInt32) -> PrefixMatch? {
        words.withUnsafeBufferPointer { words in
            codes.withUnsafeBufferPointer { codes in
                let slot = Self.slot(of: key)
                let run = Self.run(of: key, words[slot], words[slot &+ Self.quarter(of: key)])
                let word = Self.word(ofRun: run, words, codes)
                return word & Self.undecidedWord == 0 ? PrefixMatch(word: word) : nil
            }
        }
    }

    /// The place of the first word of an address's slot.
    @inlinable
    @inline(__always)
    static func slot(of key: UInt32) -> Int {
        firstSlot &+ slotWords &* Int(truncatingIfNeeded: key &>> 16)
    }

    /// The word of a slot that has the bitmap of an address's quarter.
    @inlinable
    @inline(__always)
    static func quarter(of key: UInt32) -> Int {
        1 &+ Int(truncatingIfNeeded: key &>> 14 & 3)
    }

    /// Finds the run of an address.
    ///
    /// - Parameters:
    ///   - key: The address.
    ///   - info: The first word of its slot.
    ///   - begins: The bitmap of its quarter.
    /// - Returns: The place of the run's code, and above bit 56 the code of what covers the slot.
    @inlinable
    @inline(__always)
    static func run(of key: UInt32, _ info: UInt64, _ begins: UInt64) -> UInt64 {
        // A shift by 63 less the unit's place in its quarter leaves the bits up to the unit.
        let runs = (begins &<< ~UInt64(truncatingIfNeeded: key &>> 8)).nonzeroBitCount
        let before = info &>> (32 &+ 8 &* UInt64(truncatingIfNeeded: key &>> 14 & 3)) & 255
        let place = UInt64(truncatingIfNeeded: firstCode(info)) &+ before &+ UInt64(truncatingIfNeeded: runs)
        return place | (info &<< 32) & (255 &<< 56)
    }

    /// The word of a run's value.
    @inlinable
    @inline(__always)
    static func word(
        ofRun run: UInt64,
        _ words: UnsafeBufferPointer<UInt64>,
        _ codes: UnsafeBufferPointer<UInt8>
    ) -> UInt64 {
        let code = UInt64(truncatingIfNeeded: codes[Int(truncatingIfNeeded: run & (1 &<< 56 &- 1))])
        let covering = run &>> 56
        let isRun = UInt64(bitPattern: Int64(bitPattern: 0 &- code) &>> 63)
        return words[Int(truncatingIfNeeded: covering ^ (covering ^ code) & isRun)]
    }

    /// The place of a slot's first code, from its first word.
    @inlinable
    static func firstCode(_ info: UInt64) -> Int {
        Int(truncatingIfNeeded: info & 0xff_ffff) &* 4
    }
}

extension IPv4Runs {
    /// Follows a change of the prefix in the trie.
    mutating func follow(_ trie: PrefixTrie, _ key: UInt32, length: Int) {
        changes += 1
        // Values that are gone keep their codes until then.
        if isCrowded, changes >= Self.slotCount { return remake(trie) }
        let slot = Int(key >> 16)
        if length > 16 {
            // An array that grows by itself would become twice as large.
            if codes.capacity - codes.count < Self.unitCount {
                packCodes(room: Self.unitCount + codes.count / 8)
            }
            make(slot, trie)
        } else {
            let first = slot & ~(Self.slotCount >> length - 1)
            for slot in first..<(first + Self.slotCount >> length) { setCoveringCode(slot, trie) }
        }
    }

    /// Makes all runs, and gives out codes anew.
    private mutating func remake(_ trie: PrefixTrie) {
        for word in words.indices { words[word] = 0 }
        words[Int(Self.undecided)] = Self.undecidedWord
        codes = [0, 0, 0, 0]
        (unusedCodes, changes, isCrowded) = (0, 0, false)
        for slot in 0..<Self.slotCount {
            make(slot, trie)
            setCoveringCode(slot, trie)
        }
        packCodes(room: 0)
    }

    private mutating func setCoveringCode(_ slot: Int, _ trie: PrefixTrie) {
        let code = trie.shortMatch(slot: slot).map { self.code($0) } ?? 0
        let word = Self.firstSlot + Self.slotWords * slot
        words[word] = words[word] & ~(255 << 24) | UInt64(code) << 24
    }

    /// The code of a value, which is one of eight that suit it.
    private mutating func code(_ value: UInt32) -> UInt8 {
        let word = PrefixMatch.present | UInt64(value)
        for attempt in 0..<8 as Range<UInt32> {
            let code = 1 + Int((value &+ attempt) % UInt32(Self.undecided - 1))
            if words[code] == 0 { words[code] = word }
            if words[code] == word { return UInt8(code) }
        }
        isCrowded = true
        return Self.undecided
    }

    /// Makes the runs of a slot.
    private mutating func make(_ slot: Int, _ trie: PrefixTrie) {
        fill(0..<Self.unitCount, with: 0)
        var begins = SIMD4<UInt64>()
        trie.forEachPrefix(inSlot: slot) { first, count, value in
            let code = value.map { self.code($0) } ?? Self.undecided
            fill(first..<(first + count), with: code)
            begins[first >> 6] |= 1 << UInt64(first & 63)
            if first + count < Self.unitCount {
                begins[(first + count) >> 6] |= 1 << UInt64((first + count) & 63)
            }
        }
        begins[0] &= ~1
        for quarter in 0..<4 {
            var rest = begins[quarter]
            while rest != 0 {
                let unit = 64 * quarter + rest.trailingZeroBitCount
                if units[unit] == units[unit - 1] { begins[quarter] &= ~(rest & (0 &- rest)) }
                rest &= rest - 1
            }
        }
        write(slot, begins)
    }

    private mutating func fill(_ range: Range<Int>, with code: UInt8) {
        units.withUnsafeMutableBufferPointer { $0[range].update(repeating: code) }
    }

    /// Stores the runs of a slot, over those that it had if they have the room.
    private mutating func write(_ slot: Int, _ begins: SIMD4<UInt64>) {
        let word = Self.firstSlot + Self.slotWords * slot
        let oldRoom = codeRoom(word)
        var info = words[word] & 0xffff_ffff
        var runs = 0
        for quarter in 0..<4 {
            info |= UInt64(runs) << UInt64(32 + 8 * quarter)
            words[word + 1 + quarter] = begins[quarter]
            runs += begins[quarter].nonzeroBitCount
        }
        words[word] = info
        let room = (runs + 4) & ~3
        unusedCodes += oldRoom
        if room > oldRoom {
            words[word] = info & ~0xff_ffff | UInt64(codes.count / 4)
            codes.append(contentsOf: repeatElement(0, count: room))
        } else {
            unusedCodes -= room
        }
        var place = Self.firstCode(words[word])
        codes[place] = units[0]
        for quarter in 0..<4 {
            var rest = begins[quarter]
            while rest != 0 {
                place += 1
                codes[place] = units[64 * quarter + rest.trailingZeroBitCount]
                rest &= rest - 1
            }
        }
    }

    /// The places of a slot's codes, always whole words of four; 0 for a slot without any.
    private func codeRoom(_ word: Int) -> Int {
        guard Self.firstCode(words[word]) != 0 else { return 0 }
        let runs = (1...4).reduce(1) { $0 + words[word + $1].nonzeroBitCount }
        return (runs + 3) & ~3
    }

    /// Moves the codes to storage without gaps and with room for more.
    private mutating func packCodes(room: Int) {
        var packed = ContiguousArray<UInt8>()
        packed.reserveCapacity(codes.count - unusedCodes + room)
        packed.append(contentsOf: repeatElement(0, count: 4))
        for slot in 0..<Self.slotCount {
            let word = Self.firstSlot + Self.slotWords * slot
            let first = Self.firstCode(words[word])
            words[word] = words[word] & ~0xff_ffff | UInt64(packed.count / 4)
            packed.append(contentsOf: codes[first..<(first + codeRoom(word))])
        }
        codes = packed
        unusedCodes = 0
    }
}
