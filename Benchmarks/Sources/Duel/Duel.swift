// SPDX-License-Identifier: Apache-2.0

/// Two sides of one question, timed in turns.
///
/// A machine's speed drifts, and jumps, by more than the difference of two sides. So short batches of both
/// alternate, who begins alternates too, and what counts is the median of the rounds' ratios.
package struct Duel {
    /// What both sides do.
    package let question: String
    package let ours: Side
    package let theirs: Side
    /// How many times as long as theirs ours may take; `nil` where there is nothing to reach.
    package var figure: Double?
    /// How often a batch does its work.
    package var batch: Int
    /// How many batches each side gets.
    package var rounds: Int

    package init(
        _ question: String,
        ours: Side,
        theirs: Side,
        figure: Double? = nil,
        batch: Int = 100,
        rounds: Int = 4_000
    ) {
        self.question = question
        self.ours = ours
        self.theirs = theirs
        self.figure = figure
        self.batch = batch
        self.rounds = rounds
    }

    /// Whether a word stands in the question or in our side's name.
    package func matches(_ word: String) -> Bool {
        question.contains(word) || ours.name.contains(word)
    }

    /// What came out, in nanoseconds for one piece of work.
    package struct Outcome {
        /// The median of our batches.
        package let ours: Double
        /// The median of their batches.
        package let theirs: Double
        /// The median of the rounds' ratios.
        package let ratio: Double
        /// The middle half of the rounds' ratios.
        package let spread: ClosedRange<Double>
    }

    package func run() throws -> Outcome {
        var times: [(ours: Double, theirs: Double)] = []
        // The first round fills caches and is not counted.
        for round in 0...rounds {
            let time = try time(oursFirst: round.isMultiple(of: 2))
            if round > 0 { times.append(time) }
        }
        let ratios = times.map { $0.ours / $0.theirs }.sorted()
        return Outcome(
            ours: Self.median(times.map(\.ours)),
            theirs: Self.median(times.map(\.theirs)),
            ratio: Self.median(ratios),
            spread: ratios[ratios.count / 4]...ratios[ratios.count * 3 / 4]
        )
    }

    /// One round, in nanoseconds for one piece of work.
    private func time(oursFirst: Bool) throws -> (ours: Double, theirs: Double) {
        let first = try (oursFirst ? ours : theirs).nanoseconds(batch) / Double(batch)
        let second = try (oursFirst ? theirs : ours).nanoseconds(batch) / Double(batch)
        return oursFirst ? (first, second) : (second, first)
    }

    /// The middle one, or the mean of the middle two.
    private static func median(_ numbers: [Double]) -> Double {
        let sorted = numbers.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
