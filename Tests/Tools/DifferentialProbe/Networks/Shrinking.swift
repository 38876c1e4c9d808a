// SPDX-License-Identifier: Apache-2.0

/// Finds a small network that still shows a difference.
enum Shrinking {
    /// Leaves out commands, many at once and then one at a time, while the difference stays.
    ///
    /// It stops early when the process is interrupted.
    ///
    /// - Parameters:
    ///   - difference: The difference to begin with.
    ///   - commands: The commands of a difference.
    ///   - find: Makes a network by commands and returns its difference; `nil` where there is none.
    /// - Returns: The difference in the smallest network that was found.
    static func smallest<Difference>(
        _ difference: Difference,
        commands: (Difference) -> [Command],
        _ find: ([Command]) throws -> Difference?
    ) rethrows -> Difference {
        var smallest = difference
        var length = max(1, commands(smallest).count / 2)
        while Interruption.signal == nil {
            let before = commands(smallest).count
            var start = 0
            while start < commands(smallest).count, Interruption.signal == nil {
                var fewer = commands(smallest)
                fewer.removeSubrange(start..<min(start + length, fewer.count))
                if let found = try find(fewer) { smallest = found } else { start += length }
            }
            if length == 1, commands(smallest).count == before { break }
            if length > 1 { length /= 2 }
        }
        return smallest
    }
}
