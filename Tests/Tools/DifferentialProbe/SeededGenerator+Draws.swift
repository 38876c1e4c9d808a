// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

// How networks and queries are drawn: another way would make other networks of the seeds that were kept.
extension SeededGenerator {
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
