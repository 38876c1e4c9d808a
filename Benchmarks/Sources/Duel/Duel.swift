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
    /// What the ratio is meant to come to; `nil` where there is nothing to reach.
    package let goal: Goal?
    /// How often a batch does its work.
    package let batch: Int
    /// How many batches each side gets.
    package let rounds: Int

    package init(
        _ question: String,
        ours: Side,
        theirs: Side,
        goal: Goal? = nil,
        batch: Int = 100,
        rounds: Int = 4_000
    ) {
        self.question = question
        self.ours = ours
        self.theirs = theirs
        self.goal = goal
        self.batch = batch
        self.rounds = rounds
    }

    /// Whether a word stands in the question or in our side's name.
    package func matches(_ word: String) -> Bool {
        question.contains(word) || ours.name.contains(word)
    }

    /// The row of the table, measured.
    package func row() throws -> Row {
        Row(question, ours: ours.name, theirs: theirs.name, try run(), goal: goal)
    }

    private func run() throws -> Outcome {
        var times: [(ours: Double, theirs: Double)] = []
        // The first round fills caches and is not counted.
        for round in 0...Effort.scaled(rounds) {
            let time = try time(oursFirst: round.isMultiple(of: 2))
            if round > 0 { times.append(time) }
        }
        return Outcome(rounds: times)
    }

    /// One round, in nanoseconds for one piece of work.
    private func time(oursFirst: Bool) throws -> (ours: Double, theirs: Double) {
        let first = try (oursFirst ? ours : theirs).nanoseconds(batch) / Double(batch)
        let second = try (oursFirst ? theirs : ours).nanoseconds(batch) / Double(batch)
        return oursFirst ? (first, second) : (second, first)
    }
}
