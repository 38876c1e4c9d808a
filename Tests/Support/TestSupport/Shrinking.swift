// SPDX-License-Identifier: Apache-2.0

/// Finds a short series of steps that still shows a difference.
package enum Shrinking {
    /// Leaves out steps, many at once and then one at a time, while the difference stays.
    ///
    /// It stops early when the process is interrupted.
    ///
    /// - Parameters:
    ///   - difference: The difference to begin with.
    ///   - steps: The steps of a difference.
    ///   - find: Makes a network by steps and returns its difference; `nil` where there is none.
    /// - Returns: The difference with the fewest steps that was found.
    package static func smallest<Difference, Step>(
        _ difference: Difference,
        steps: (Difference) -> [Step],
        _ find: ([Step]) throws -> Difference?
    ) rethrows -> Difference {
        var smallest = difference
        var length = max(1, steps(smallest).count / 2)
        while Interruption.signal == nil {
            let before = steps(smallest).count
            var start = 0
            while start < steps(smallest).count, Interruption.signal == nil {
                var fewer = steps(smallest)
                fewer.removeSubrange(start..<min(start + length, fewer.count))
                if let found = try find(fewer) { smallest = found } else { start += length }
            }
            if length == 1, steps(smallest).count == before { break }
            if length > 1 { length /= 2 }
        }
        return smallest
    }
}
