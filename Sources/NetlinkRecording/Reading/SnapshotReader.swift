// SPDX-License-Identifier: Apache-2.0

package import NetlinkRoute
internal import RoutingModel
package import RoutingSimulation

/// Applies the kernel's messages to a snapshot, fast enough for a dump of a million routes.
///
/// ```swift
/// var snapshotReader = SnapshotReader()
/// try reader.readAll { entry in
///     if case .message(let message) = entry.content { snapshotReader.take(message) }
/// }
/// snapshotReader.snapshot.dumpEnded(knowsNeighbours: true)
/// ```
///
/// The result equals that of ``NetlinkMessage/change`` and ``NetworkSnapshot/apply(_:)`` for each message. The
/// reader keeps the templates of the last few hundred route messages: a message that differs from one of them in
/// the prefix alone is added, or removed, without parsing its attributes.
package struct SnapshotReader: Sendable {
    /// What became of a message.
    package enum Result: Hashable, Sendable {
        /// The snapshot includes it.
        case applied
        /// It is of a kind or family that a snapshot does not hold.
        case ignored
        /// It is cut, or its attributes overrun it.
        case malformed
    }

    /// The network after the messages taken so far.
    package var snapshot = NetworkSnapshot()
    private var cache = DecodedRouteCache()

    /// Starts with an empty snapshot.
    package init() {}

    /// Applies one message.
    @discardableResult
    package mutating func take(_ message: NetlinkMessage) -> Result {
        guard let form = DecodedRouteCache.Form(message) else { return take(message.content) }
        if let template = cache.template(form), change(template, form) { return .applied }
        return form.isRemoval ? take(message.content) : takeRoute(message, form)
    }

    @inline(__always)
    private mutating func change(_ template: RouteTemplate, _ form: DecodedRouteCache.Form) -> Bool {
        guard form.isIPv6 else {
            let key = UInt32(bigEndian: form.address.loadUnaligned(as: UInt32.self))
            return snapshot.apply(template, key: key, length: form.length, removing: form.isRemoval)
        }
        let key = AddressBits(
            high: UInt64(bigEndian: form.address.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: form.address.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
        return snapshot.apply(template, key: key, length: form.length, removing: form.isRemoval)
    }

    @inline(never)
    private mutating func takeRoute(_ message: NetlinkMessage, _ form: DecodedRouteCache.Form) -> Result {
        let content = message.content
        guard case .change(let change) = content, case .route(let route, _) = change else {
            return take(content)
        }
        snapshot.apply(change)
        if let template = snapshot.template(of: route) { cache.store(template, form) }
        return .applied
    }

    @inline(never)
    private mutating func take(_ content: NetlinkMessage.Content) -> Result {
        switch content {
        case .change(let change):
            snapshot.apply(change)
            return .applied
        case .ignored: return .ignored
        case .malformed: return .malformed
        }
    }
}

// MARK: - Routes that are not decoded again

/// The last route messages that were parsed, each with the template of its route.
///
/// Two messages whose bytes differ in the destination alone describe routes that differ in the destination alone.
/// The kernel writes RTA_DST behind RTA_TABLE, and the cache looks for it only there:
///
/// ```
///  bytes    0        16       17       18      28          36          40
///           header | family | length | rest  | RTA_TABLE | head of   | address  | further
///                             of the                     | RTA_DST   | 4 or 16  | attributes
///                             prefix
/// ```
struct DecodedRouteCache: Sendable {
    /// A route message, split into its destination and the rest.
    struct Form {
        /// The message as words of 4 bytes.
        ///
        /// Header, destination and prefix length are not compared.
        fileprivate let words: UnsafeBufferPointer<UInt32>
        fileprivate let firstRest: Int
        fileprivate let hash: UInt32
        /// Whether the route is gone.
        let isRemoval: Bool
        /// Whether the route is an IPv6 route.
        let isIPv6: Bool
        /// The prefix length, at most the address length.
        let length: Int
        /// The destination in network order.
        let address: UnsafeRawPointer
    }

    private struct Slot {
        var template: RouteTemplate?
        var count = 0
    }

    private static let slotCount = 256
    /// The longest message stored, in words of 4 bytes.
    ///
    /// Messages with several nexthops or metrics are longer.
    private static let wordLimit = 40

    private var slots = ContiguousArray(repeating: Slot(), count: slotCount)
    private var words = ContiguousArray<UInt32>(repeating: 0, count: slotCount * wordLimit)

    /// The template stored for a message of the same form.
    func template(_ form: Form) -> RouteTemplate? {
        let number = Self.slot(form)
        guard slots[number].count == form.words.count else { return nil }
        let isSame = words.withUnsafeBufferPointer { words in
            form.isSame(as: UnsafeBufferPointer(rebasing: words[(number * Self.wordLimit)...]))
        }
        return isSame ? slots[number].template : nil
    }

    /// Stores the template of a message, in place of an older one.
    mutating func store(_ template: RouteTemplate, _ form: Form) {
        guard form.hasOneDestination else { return }
        let number = Self.slot(form)
        slots[number] = Slot(template: template, count: form.words.count)
        for (offset, word) in form.words.enumerated() { words[number * Self.wordLimit + offset] = word }
    }

    private static func slot(_ form: Form) -> Int {
        Int(form.hash >> 24)
    }

    /// Whether a message of this many bytes fits into a slot.
    fileprivate static func holds(_ byteCount: Int) -> Bool {
        byteCount <= wordLimit * 4 && byteCount & 3 == 0
    }
}

extension DecodedRouteCache.Form {
    /// The word with the family and the prefix length.
    private static let bodyWord = 4
    /// The word with the head of RTA_DST.
    private static let headWord = 9

    /// Splits a route message; `nil` for a message of another type or layout.
    @inline(__always)
    init?(_ message: NetlinkMessage) {
        guard message.type == 24 || message.type == 25, message.bytes.count >= 44,
            DecodedRouteCache.holds(message.bytes.count), let base = message.bytes.baseAddress
        else { return nil }
        words = message.bytes.assumingMemoryBound(to: UInt32.self)
        isRemoval = message.type == 25
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

    /// Whether a stored message differs in the destination and its length alone.
    @inline(__always)
    fileprivate func isSame(as stored: UnsafeBufferPointer<UInt32>) -> Bool {
        let body = Self.bodyWord
        var difference = (words[body] ^ stored[body]) & UInt32(littleEndian: 0xFFFF_00FF)
        for place in (body + 1)...Self.headWord { difference |= words[place] ^ stored[place] }
        for place in firstRest..<words.count { difference |= words[place] ^ stored[place] }
        return difference == 0
    }

    /// Whether no attribute overruns the message and RTA_DST occurs once, at the expected place.
    fileprivate var hasOneDestination: Bool {
        let bytes = UnsafeRawBufferPointer(words)
        var offset = 28
        var destinations: [Int] = []
        while offset + 4 <= bytes.count {
            let length = Int(bytes.load(fromByteOffset: offset, as: UInt16.self))
            guard length >= 4, offset + length <= bytes.count else { return false }
            // NLA_TYPE_MASK removes the bits that mark nested attributes.
            if bytes.load(fromByteOffset: offset + 2, as: UInt16.self) & 0x3FFF == 1 {
                destinations.append(offset)
            }
            offset += (length + 3) & ~3
        }
        return destinations == [4 * Self.headWord]
    }
}
