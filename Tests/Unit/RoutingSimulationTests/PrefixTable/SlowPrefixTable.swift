// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import RoutingSimulation

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
