// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording
import RoutingModel

/// What a slow table can be keyed by: an integer in host order.
protocol PrefixKey: Hashable, Sendable {
    /// The longest prefix length, which is the number of bits in a key.
    static var maximumLength: Int { get }
    /// The key with its first bit topmost and zeros behind its last.
    var addressBits: AddressBits { get }
    /// Reads the key back from the top bits.
    init(addressBits: AddressBits)
    /// The key as an address.
    var address: IPAddress { get }
}

/// An IPv4 address in host order: 10.0.0.1 is 0x0A000001.
extension UInt32: PrefixKey {
    static var maximumLength: Int { 32 }
    var addressBits: AddressBits { AddressBits(high: UInt64(self) << 32, low: 0) }
    init(addressBits: AddressBits) {
        self.init(truncatingIfNeeded: addressBits.high >> 32)
    }
    var address: IPAddress { IPAddress(v4: self) }
}

/// An IPv6 address in host order: 2001:db8::1 is 0x20010DB8_00000000 and 1.
struct AddressBits: PrefixKey {
    /// Bits 0 to 63, counted from the front of the address.
    var high: UInt64
    /// Bits 64 to 127.
    var low: UInt64

    static var maximumLength: Int { 128 }
    var addressBits: AddressBits { self }
    init(addressBits: AddressBits) {
        self = addressBits
    }
    init(high: UInt64, low: UInt64) {
        (self.high, self.low) = (high, low)
    }
    var address: IPAddress { IPAddress(v6High: high, low: low) }
}

/// The fast table with the keys of its slow twin.
struct FastPrefixTable<Key: PrefixKey> {
    private var table = PrefixTable<UInt32>(Key.maximumLength == 32 ? .v4 : .v6)

    var count: Int { table.count }
    var memoryFootprint: Int { table.memoryFootprint }

    func value(key: Key, length: Int) -> UInt32? {
        table.value(at: Self.prefix(key, length))
    }

    func longestMatch(_ key: Key, shorterThan limit: Int = .max) -> (length: Int, value: UInt32)? {
        table.longestMatch(key.address, shorterThan: limit)
    }

    @discardableResult
    mutating func insert(_ value: UInt32, key: Key, length: Int) -> UInt32? {
        table.insert(value, at: Self.prefix(key, length))
    }

    @discardableResult
    mutating func remove(key: Key, length: Int) -> UInt32? {
        table.remove(Self.prefix(key, length))
    }

    func forEachEntry(_ body: (_ key: Key, _ length: Int, _ value: UInt32) -> Void) {
        table.forEachEntry { prefix, value in
            let shift = UInt128(128 - Key.maximumLength)
            body(Key(number: prefix.address.bits << shift), prefix.length, value)
        }
    }

    private static func prefix(_ key: Key, _ length: Int) -> IPPrefix {
        guard let prefix = IPPrefix(key.address, length: length) else {
            fatalError("\(length) is not a length")
        }
        return prefix
    }
}

/// The twin of `PrefixTable`: a list of prefixes that is looked through from end to end.
///
/// Slow and obviously right: the first bits of two numbers are compared, and nothing is remembered but the list.
struct SlowPrefixTable<Key: PrefixKey> {
    /// A prefix: its bits from the front of 128, zeros behind them.
    struct Prefix: Hashable {
        var bits: UInt128
        var length: Int

        init(_ key: Key, length: Int) {
            let rest: UInt128 = length == 0 ? .max : .max >> UInt128(length)
            bits = key.number & ~rest
            self.length = length
        }

        func covers(_ key: Key) -> Bool {
            self == Prefix(key, length: length)
        }
    }

    private(set) var entries: [(prefix: Prefix, value: UInt32)] = []

    func value(key: Key, length: Int) -> UInt32? {
        let prefix = Prefix(key, length: length)
        return entries.first { $0.prefix == prefix }?.value
    }

    func longestMatch(_ key: Key, shorterThan limit: Int = .max) -> (length: Int, value: UInt32)? {
        var best: (length: Int, value: UInt32)?
        for (prefix, value) in entries where prefix.length < limit && prefix.covers(key) {
            if prefix.length > best?.length ?? -1 { best = (prefix.length, value) }
        }
        return best
    }

    mutating func insert(_ value: UInt32, key: Key, length: Int) -> UInt32? {
        let old = remove(key: key, length: length)
        entries.append((Prefix(key, length: length), value))
        return old
    }

    mutating func remove(key: Key, length: Int) -> UInt32? {
        let prefix = Prefix(key, length: length)
        guard let place = entries.firstIndex(where: { $0.prefix == prefix }) else { return nil }
        return entries.remove(at: place).value
    }
}

extension PrefixKey {
    /// All bits as a number, the first one topmost.
    var number: UInt128 {
        UInt128(addressBits.high) << 64 | UInt128(addressBits.low)
    }

    /// Takes the first bits of a number.
    init(number: UInt128) {
        self.init(
            addressBits: AddressBits(
                high: UInt64(number >> 64), low: UInt64(truncatingIfNeeded: number)))
    }

    /// The same with another bit at a place, counted from the front.
    func flipped(_ place: Int) -> Self {
        guard 0..<Self.maximumLength ~= place else { return self }
        return Self(number: number ^ 1 << UInt128(127 - place))
    }
}
