// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The condition of `--until`.
enum WatchGoal: String, CaseIterable {
    /// All targets are reachable at the same time.
    case up
    /// No target is reachable.
    case down
    /// Each target has changed since its first result.
    case change
}

/// Counts how many targets meet the conditions of ``WatchGoal``.
struct WatchProgress<Result: Sendable>: Sendable {
    private let isReachable: @Sendable (Result) -> Bool?
    private let isChange: @Sendable (_ new: Result, _ old: Result) -> Bool
    /// The last result of each target; `nil` before the first result and while a name is not resolved.
    private(set) var results: [Result?]
    /// The number of targets that are reachable, that are not reachable, and whose state is not known.
    private var counts: [Bool?: Int]
    private var changed: Set<Int> = []

    /// - Parameters:
    ///   - count: The number of targets at first.
    ///   - isReachable: Whether the target of a result is reachable; `nil` if that is not known.
    ///   - isChange: Whether a result differs from the one before it.
    init(
        count: Int = 0, _ isReachable: @escaping @Sendable (Result) -> Bool?,
        isChange: @escaping @Sendable (_ new: Result, _ old: Result) -> Bool = { _, _ in false }
    ) {
        (self.isReachable, self.isChange) = (isReachable, isChange)
        (results, counts) = (Array(repeating: nil, count: count), [nil: count])
    }

    /// Adds a target and returns its index.
    mutating func addTarget() -> Int {
        results.append(nil)
        counts[nil, default: 0] += 1
        return results.count - 1
    }

    /// Stores the result of a target.
    @discardableResult
    mutating func store(_ result: Result, of index: Int) -> WatchNews {
        let old = results[index]
        results[index] = result
        counts[old.flatMap(isReachable), default: 0] -= 1
        counts[isReachable(result), default: 0] += 1
        guard let old else { return .first }
        guard isChange(result, old) else { return .repetition }
        changed.insert(index)
        return .change
    }

    /// Whether all targets meet a condition.
    func meets(_ goal: WatchGoal) -> Bool {
        switch goal {
        case .up: counts[true, default: 0] == results.count
        case .down: counts[false, default: 0] == results.count
        case .change: changed.count == results.count
        }
    }
}

/// The relation of a result to the result before it.
enum WatchNews {
    case first
    case change
    /// A result that the last line shows already.
    case repetition
}
