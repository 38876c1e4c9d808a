// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Route messages of late, each with what it came to in a snapshot.
///
/// Two messages that are the same byte for byte but for the destination are read to the same route but for the
/// destination. The kernel puts that right behind the table's number, and only there it is looked for:
///
/// ```
///  bytes    0        16       17       18      28          36          40
///           header | family | length | rest  | RTA_TABLE | head of   | address  | further
///                             of the                     | RTA_DST   | 4 or 16  | attributes
///                             prefix
/// ```
struct DecodedRouteCache {
    /// The destination and its length in a message, and what it has beside them.
    struct Form {
        /// The words of the message that are not the header, the destination or its length.
        fileprivate let words: UnsafeBufferPointer<UInt32>
        fileprivate let firstRest: Int
        fileprivate let hash: UInt32
        /// Whether it is IPv6.
        let isIPv6: Bool
        /// The length of the prefix, which the address can hold.
        let length: Int
        /// The destination in network order.
        let address: UnsafeRawPointer
    }

    private struct Slot {
        var likeness: RouteTemplate?
        var count = 0
    }

    private static let slotCount = 256
    /// The longest message kept, in words of 4 bytes: those with legs or metrics are longer.
    private static let wordLimit = 40

    private var slots = ContiguousArray(repeating: Slot(), count: slotCount)
    private var words = ContiguousArray<UInt32>(repeating: 0, count: slotCount * wordLimit)

    /// What a message of the same form came to.
    func likeness(_ form: Form) -> RouteTemplate? {
        let number = Self.slot(form)
        guard slots[number].count == form.words.count else { return nil }
        let kept = words.withUnsafeBufferPointer { words in
            form.isSame(as: UnsafeBufferPointer(rebasing: words[(number * Self.wordLimit)...]))
        }
        return kept ? slots[number].likeness : nil
    }

    /// Keeps what a message came to, in the place of another.
    mutating func keep(_ likeness: RouteTemplate, _ form: Form) {
        guard form.hasOneDestination else { return }
        let number = Self.slot(form)
        slots[number] = Slot(likeness: likeness, count: form.words.count)
        for (offset, word) in form.words.enumerated() { words[number * Self.wordLimit + offset] = word }
    }

    private static func slot(_ form: Form) -> Int {
        Int(form.hash >> 24)
    }

    /// Whether a message of so many bytes is short enough to be kept.
    fileprivate static func holds(_ byteCount: Int) -> Bool {
        byteCount <= wordLimit * 4 && byteCount & 3 == 0
    }
}

extension DecodedRouteCache.Form {
    /// The word with the family and the length of the prefix.
    private static let bodyWord = 4
    /// The word with the head of RTA_DST.
    private static let headWord = 9

    /// Reads the outline of a route message; `nil` for another, and for one of another form.
    @inline(__always)
    init?(_ message: NetlinkMessage) {
        guard message.type == 24, message.bytes.count >= 44, DecodedRouteCache.holds(message.bytes.count),
            let base = message.bytes.baseAddress
        else { return nil }
        words = message.bytes.assumingMemoryBound(to: UInt32.self)
        let family = message.bytes[4 * Self.bodyWord]
        isIPv6 = family == IPAddress.Family.v6.rawValue
        length = Int(message.bytes[4 * Self.bodyWord + 1])
        let size = isIPv6 ? 16 : 4
        firstRest = Self.headWord + 1 + size / 4
        guard isIPv6 || family == IPAddress.Family.v4.rawValue, length <= 8 * size,
            message.bytes.load(fromByteOffset: 4 * Self.headWord, as: UInt16.self) == 4 + size,
            message.bytes.load(fromByteOffset: 4 * Self.headWord + 2, as: UInt16.self) == 1,
            words.count >= firstRest
        else { return nil }
        address = base + 4 * (Self.headWord + 1)
        hash = Self.hash(words, firstRest)
    }

    @inline(__always)
    private static func hash(_ words: UnsafeBufferPointer<UInt32>, _ firstRest: Int) -> UInt32 {
        var hash = words[bodyWord + 1]
        for place in firstRest..<words.count { hash = (hash ^ words[place]) &* 0x9E37_79B1 }
        return hash &* 0x9E37_79B1
    }

    /// Whether a kept message is the same but for the destination and its length.
    @inline(__always)
    fileprivate func isSame(as kept: UnsafeBufferPointer<UInt32>) -> Bool {
        let body = Self.bodyWord
        var difference = (words[body] ^ kept[body]) & UInt32(littleEndian: 0xFFFF_00FF)
        for place in (body + 1)...Self.headWord { difference |= words[place] ^ kept[place] }
        for place in firstRest..<words.count { difference |= words[place] ^ kept[place] }
        return difference == 0
    }

    /// Whether the attributes hold together and the destination stands there once, where it was looked for.
    fileprivate var hasOneDestination: Bool {
        let bytes = UnsafeRawBufferPointer(words)
        var offset = 28
        var destinations: [Int] = []
        while offset + 4 <= bytes.count {
            let length = Int(bytes.load(fromByteOffset: offset, as: UInt16.self))
            guard length >= 4, offset + length <= bytes.count else { return false }
            // Without the bit that marks nested attributes.
            if bytes.load(fromByteOffset: offset + 2, as: UInt16.self) & 0x3FFF == 1 {
                destinations.append(offset)
            }
            offset += (length + 3) & ~3
        }
        return destinations == [4 * Self.headWord]
    }
}
