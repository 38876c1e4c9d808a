// SPDX-License-Identifier: Apache-2.0

/// Random numbers that are the same for the same seed, on every machine (xorshift).
package struct Random {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
