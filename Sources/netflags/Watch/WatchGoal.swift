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
struct WatchProgress {
    /// The differences that count as a change.
    let changes: ReachabilityReport.Change
    /// The last result of each target; `nil` before the first result and while a name is not resolved.
    private(set) var results: [Answer?] = []
    /// The number of targets that are reachable, that are not reachable, and whose state is not known.
    private var counts: [Bool?: Int] = [:]
    private var changed: Set<Int> = []

    init(onChangeOf changes: ReachabilityReport.Change = .flags) {
        self.changes = changes
    }

    /// Adds a target and returns its index.
    mutating func addTarget() -> Int {
        results.append(nil)
        counts[nil, default: 0] += 1
        return results.count - 1
    }

    /// The relation of a result to the result before it.
    enum News {
        case first
        case change
        /// A result that the last line shows already.
        case repetition
    }

    /// Stores the result of a target.
    @discardableResult
    mutating func store(_ result: Answer, of index: Int) -> News {
        let old = results[index]
        results[index] = result
        counts[old?.isReachable, default: 0] -= 1
        counts[result.isReachable, default: 0] += 1
        guard let old else { return .first }
        guard result.isChange(from: old, changes) else { return .repetition }
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
