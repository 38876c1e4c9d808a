// SPDX-License-Identifier: Apache-2.0

import CBaseline

/// Two sides that do the same, timed in turns.
///
/// A machine's speed drifts, and jumps, by more than the difference of two sides. So short batches of both
/// alternate, who begins alternates too, and what counts is the median of the rounds' ratios.
struct Duel {
    /// What both sides do.
    let name: String
    let ours: Side
    let theirs: Side
    /// What the ratio is meant to come to; `nil` where there is nothing to reach.
    var goal: Goal?
    /// How often a batch does its work.
    var batch = 100
    /// How many batches each side gets.
    var rounds = 4_000

    /// Measures, and prints the row.
    func run() throws {
        var times: [Round] = []
        // The first round fills caches and is not counted.
        for round in 0...Effort.scaled(rounds) {
            let time = try time(oursFirst: round.isMultiple(of: 2))
            if round > 0 { times.append(time) }
        }
        try Row(name, ours: ours.name, theirs: theirs.name, times, goal: goal).print()
    }

    /// One round, in nanoseconds for one piece of work.
    private func time(oursFirst: Bool) throws -> Round {
        let first = try (oursFirst ? ours : theirs).nanoseconds(batch) / Double(batch)
        let second = try (oursFirst ? theirs : ours).nanoseconds(batch) / Double(batch)
        return oursFirst ? (first, second) : (second, first)
    }
}

/// The times of both sides, in nanoseconds.
typealias Round = (ours: Double, theirs: Double)

/// One of the two that a ``Duel`` compares.
struct Side {
    let name: String
    /// Does the work a number of times and returns the nanoseconds that all of it took.
    let nanoseconds: (_ count: Int) throws -> Double

    /// A side whose work is timed from outside.
    init(_ name: String, _ work: @escaping (_ count: Int) throws -> Void) {
        self.init(selfTimed: name) { count in
            let began = baseline_now()
            try work(count)
            return Double(baseline_now() - began)
        }
    }

    /// A side that has a clock of its own.
    init(selfTimed name: String, nanoseconds: @escaping (_ count: Int) throws -> Double) {
        self.name = name
        self.nanoseconds = nanoseconds
    }
}
