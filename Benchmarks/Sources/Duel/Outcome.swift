// SPDX-License-Identifier: Apache-2.0

/// What the rounds of a comparison come to, in nanoseconds for one piece of work.
package struct Outcome {
    /// The median of our rounds.
    package let ours: Double
    /// The median of their rounds.
    package let theirs: Double
    /// The median of the rounds' ratios.
    package let ratio: Double
    /// The middle half of the rounds' ratios.
    package let spread: ClosedRange<Double>

    /// - Parameter rounds: The times of both sides in each round; at least one.
    package init(rounds: [(ours: Double, theirs: Double)]) {
        let ratios = rounds.map { $0.ours / $0.theirs }.sorted()
        ours = Self.median(rounds.map(\.ours))
        theirs = Self.median(rounds.map(\.theirs))
        ratio = Self.median(ratios)
        spread = ratios[ratios.count / 4]...ratios[ratios.count * 3 / 4]
    }

    /// The middle one, or the mean of the middle two.
    private static func median(_ numbers: [Double]) -> Double {
        let sorted = numbers.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
