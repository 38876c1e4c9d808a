// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// What a ``PrefixTable`` can be keyed by: an integer in host order.
package protocol PrefixKey: Hashable, Sendable {
    /// The longest prefix length, which is the number of bits in a key.
    static var maximumLength: Int { get }
    /// The key with its first bit topmost and zeros behind its last.
    var addressBits: AddressBits { get }
    /// Reads the key back from the top bits.
    init(addressBits: AddressBits)
}

/// An IPv4 address in host order: 10.0.0.1 is 0x0A000001.
extension UInt32: PrefixKey {
    /// 32 bits.
    package static var maximumLength: Int { 32 }
    /// The address in the top 32 bits.
    package var addressBits: AddressBits { AddressBits(high: UInt64(self) << 32, low: 0) }
    /// Takes the top 32 bits.
    package init(addressBits: AddressBits) {
        self.init(truncatingIfNeeded: addressBits.high >> 32)
    }
}

/// An IPv6 address in host order: 2001:db8::1 is 0x20010DB8_00000000 and 1.
extension AddressBits: PrefixKey {
    /// 128 bits.
    package static var maximumLength: Int { 128 }
    /// The key itself.
    package var addressBits: AddressBits { self }
    /// Takes the bits as they are.
    package init(addressBits: AddressBits) {
        self = addressBits
    }
}

// MARK: - Bits

extension AddressBits {
    /// No bit set.
    static let zero = AddressBits(high: 0, low: 0)

    /// The four bits at `offset`, a multiple of 4 below 128.
    func nibble(at offset: Int) -> Int {
        Int(truncatingIfNeeded: (offset < 64 ? high >> (60 - offset) : low >> (124 - offset)) & 15)
    }

    /// The bits after `count` zeros in front; what leaves behind bit 127 is lost.
    func movedBack(by count: Int) -> AddressBits {
        if count < 64 {
            AddressBits(high: high >> count, low: low >> count | high << (64 - count))
        } else {
            AddressBits(high: 0, low: high >> (count - 64))
        }
    }

    /// The first `count` bits, and zeros behind them.
    func keeping(_ count: Int) -> AddressBits {
        let highMask = ~(UInt64.max >> min(count, 64))
        let lowMask = ~(UInt64.max >> max(count - 64, 0))
        return AddressBits(high: high & highMask, low: low & lowMask)
    }

    /// How many bits from the front are the same in both, 0 to 128.
    func commonLength(with other: AddressBits) -> Int {
        let difference = high ^ other.high
        return difference != 0
            ? difference.leadingZeroBitCount
            : 64 + (low ^ other.low).leadingZeroBitCount
    }

    /// Joins bit by bit.
    static func | (left: AddressBits, right: AddressBits) -> AddressBits {
        AddressBits(high: left.high | right.high, low: left.low | right.low)
    }
}
