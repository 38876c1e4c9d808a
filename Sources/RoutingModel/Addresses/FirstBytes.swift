// SPDX-License-Identifier: Apache-2.0

/// The first bytes of the addresses that a table has, or once had, prefixes for.
///
/// The table of own addresses is asked first and rarely has the answer: this filter rules it out in a nanosecond.
struct FirstBytes: Sendable {
    private var words = SIMD4<UInt64>()

    /// Adds the first bytes of a prefix's addresses.
    ///
    /// The address has its first bit topmost.
    mutating func insert(_ address: UInt64, length: Int) {
        let first = Int(address >> 56)
        // A prefix shorter than a byte covers several.
        let count = length < 8 ? 1 << (8 - length) : 1
        for byte in (first & ~(count - 1))..<((first & ~(count - 1)) + count) {
            words[byte >> 6] |= 1 << UInt64(byte & 63)
        }
    }

    /// Whether a prefix may be over an address.
    @inline(__always)
    func contains(_ address: UInt64) -> Bool {
        words[Int(address >> 62)] & 1 << (address >> 56 & 63) != 0
    }
}
