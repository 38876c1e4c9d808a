// SPDX-License-Identifier: Apache-2.0

import RoutingModel

/// The twin of `PrefixTable`: a list of prefixes that is looked through from end to end.
///
/// Slow and obviously right: bits are compared one by one, and nothing is remembered but the list.
struct SlowPrefixTable<Key: PrefixKey> {
    private(set) var entries: [(bits: [Bool], value: UInt32)] = []

    /// The first bits of a key, one by one.
    static func bits(_ key: Key, length: Int) -> [Bool] {
        let all = key.addressBits
        return (0..<length).map { place in
            place < 64 ? all.high >> (63 - place) & 1 == 1 : all.low >> (127 - place) & 1 == 1
        }
    }

    func value(key: Key, length: Int) -> UInt32? {
        let bits = Self.bits(key, length: length)
        return entries.first { $0.bits == bits }?.value
    }

    func longestMatch(_ key: Key, shorterThan limit: Int = .max) -> (length: Int, value: UInt32)? {
        let address = Self.bits(key, length: Key.maximumLength)
        var best: (length: Int, value: UInt32)?
        for entry in entries where entry.bits.count < limit && address.starts(with: entry.bits) {
            if entry.bits.count > best?.length ?? -1 { best = (entry.bits.count, entry.value) }
        }
        return best
    }

    mutating func insert(_ value: UInt32, key: Key, length: Int) -> UInt32? {
        let old = remove(key: key, length: length)
        entries.append((Self.bits(key, length: length), value))
        return old
    }

    mutating func remove(key: Key, length: Int) -> UInt32? {
        let bits = Self.bits(key, length: length)
        guard let place = entries.firstIndex(where: { $0.bits == bits }) else { return nil }
        return entries.remove(at: place).value
    }
}
