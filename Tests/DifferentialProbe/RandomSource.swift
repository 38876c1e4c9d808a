// SPDX-License-Identifier: Apache-2.0

/// SplitMix64: the same numbers from the same seed in every run.
struct RandomSource: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0, below a limit.
    mutating func below(_ limit: Int) -> Int {
        // Small limits against 64 bits: no remainder is noticeably more frequent.
        Int(next() % UInt64(limit))
    }

    /// Whether something that happens once in so many times does.
    mutating func once(in times: Int) -> Bool {
        below(times) == 0
    }

    /// One of the elements; there must be one.
    mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[below(choices.count)]
    }
}
