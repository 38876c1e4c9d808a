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
    /// What counts as a change.
    let changes: ReachabilityReport.Change
    /// The last result of a target; `nil` before the first and while a name is not resolved.
    private(set) var results: [Answer?] = []
    private var reachableCount = 0
    private var unreachableCount = 0
    private var changed: Set<Int> = []

    init(onChangeOf changes: ReachabilityReport.Change = .flags) {
        self.changes = changes
    }

    /// Adds a target and returns its index.
    mutating func addTarget() -> Int {
        results.append(nil)
        return results.count - 1
    }

    /// How a result compares with the one before.
    enum News {
        case first
        case change
        /// What the last line says already.
        case repetition
    }

    /// Stores the result of a target.
    @discardableResult
    mutating func store(_ result: Answer, of index: Int) -> News {
        let old = results[index]
        results[index] = result
        count(old, -1)
        count(result, 1)
        guard let old else { return .first }
        let isChange =
            if let old = old.report, let new = result.report { !new.isSame(as: old, changes) } else {
                old.failure != result.failure
            }
        guard isChange else { return .repetition }
        changed.insert(index)
        return .change
    }

    private mutating func count(_ result: Answer?, _ step: Int) {
        switch result?.isReachable {
        case true?: reachableCount += step
        case false?: unreachableCount += step
        case nil: break
        }
    }

    /// Whether all targets meet a condition.
    func meets(_ goal: WatchGoal) -> Bool {
        switch goal {
        case .up: reachableCount == results.count
        case .down: unreachableCount == results.count
        case .change: changed.count == results.count
        }
    }
}

extension Result {
    /// The error; `nil` for a success.
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
