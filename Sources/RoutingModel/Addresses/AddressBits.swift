// SPDX-License-Identifier: Apache-2.0

/// Up to 128 bits of an address, in host order, with the first bit of the address topmost.
///
/// It is the key of an IPv6 table. An IPv4 address fills the top 32 bits, so that one trie serves both families.
package struct AddressBits: Hashable, Sendable {
    /// Bits 0 to 63, counted from the front of the address.
    package var high: UInt64
    /// Bits 64 to 127.
    package var low: UInt64

    /// Joins two halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
