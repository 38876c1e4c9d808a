// SPDX-License-Identifier: Apache-2.0

/// Finds a short series of steps that still shows a difference.
package enum Shrinking {
    /// Leaves out steps, many at once and then one at a time, while the difference stays.
    ///
    /// The search stops early after the time limit, or when the process is interrupted.
    ///
    /// - Parameters:
    ///   - difference: The difference to begin with.
    ///   - steps: The steps of a difference.
    ///   - limit: The time limit of the search; the run has its own limit, and must still report the difference.
    ///   - find: Makes a network by steps and returns its difference; `nil` if there is no difference.
    /// - Returns: The found difference with the fewest steps.
    package static func smallest<Difference, Step>(
        _ difference: Difference,
        steps: (Difference) -> [Step],
        limit: Duration = .seconds(120),
        _ find: ([Step]) throws -> Difference?
    ) rethrows -> Difference {
        var smallest = difference
        var length = max(1, steps(smallest).count / 2)
        let start = ContinuousClock.now
        var isOver: Bool { Interruption.signal != nil || ContinuousClock.now - start >= limit }
        while !isOver {
            let before = steps(smallest).count
            var index = 0
            while index < steps(smallest).count, !isOver {
                var fewer = steps(smallest)
                fewer.removeSubrange(index..<min(index + length, fewer.count))
                if let found = try find(fewer) { smallest = found } else { index += length }
            }
            if length == 1, steps(smallest).count == before { break }
            if length > 1 { length /= 2 }
        }
        return smallest
    }
}
