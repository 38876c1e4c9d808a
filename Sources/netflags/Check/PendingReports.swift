// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import SystemSupport

/// Evaluates targets side by side, and returns the results in the order of the targets.
///
/// An address takes microseconds: addresses are evaluated together, when the first of them is taken. A name can take
/// seconds and gets a thread of its own, up to ``threadLimit``.
struct PendingReports {
    typealias Report = Result<ReachabilityReport, ReachabilityError>
    typealias Evaluation = @Sendable ([ReachabilityTarget]) -> [Report]

    /// Names that are resolved at the same time.
    static let threadLimit = 64
    /// Results that wait for an earlier one at most.
    private static let capacity = 1_024

    /// A result that a thread finds.
    private final class Promise: Sendable {
        private let result = Locked<Report?>(nil)
        private let done = DispatchSemaphore(value: 0)

        func fulfil(_ value: Report) {
            result.withLock { $0 = value }
            done.signal()
        }

        /// Waits for the result; called once.
        func wait() -> Report? {
            done.wait()
            return result.withLock { $0 }
        }
    }

    private enum Entry {
        case finished(TargetLine)
        case running(String, Promise)
        case unasked(String, ReachabilityTarget)
    }

    private let evaluate: Evaluation
    private let threads = DispatchSemaphore(value: threadLimit)
    /// Oldest first.
    private var entries: [Entry] = []
    private var first = 0

    /// - Parameter evaluate: Evaluates targets: addresses together, or one name.
    init(evaluate: @escaping Evaluation) {
        self.evaluate = evaluate
    }

    /// Whether no result is waiting to be taken.
    var isEmpty: Bool { first == entries.count }

    /// Whether results have to be taken before more targets are added.
    var isFull: Bool { entries.count - first >= Self.capacity }

    /// Whether ``next()`` can take long.
    var isSlow: Bool {
        if !isEmpty, case .running = entries[first] { true } else { false }
    }

    /// Adds a result that is known.
    mutating func add(_ line: TargetLine) {
        entries.append(.finished(line))
    }

    /// Adds a target; waits while ``threadLimit`` names are resolved.
    mutating func add(_ text: String, _ target: ReachabilityTarget) {
        guard target.isName else {
            entries.append(.unasked(text, target))
            return
        }
        let (promise, threads, evaluate) = (Promise(), threads, evaluate)
        threads.wait()
        let hasThread = BackgroundThread.start("netflags-name") {
            promise.fulfil(evaluate([target])[0])
            threads.signal()
        }
        if !hasThread {
            threads.signal()
            promise.fulfil(evaluate([target])[0])
        }
        entries.append(.running(text, promise))
    }

    /// Removes the oldest result, and waits for it; `nil` when there is none.
    mutating func next() -> TargetLine? {
        guard !isEmpty else { return nil }
        if case .unasked = entries[first] { askTogether() }
        let entry = entries[first]
        first += 1
        if isEmpty {
            entries.removeAll(keepingCapacity: true)
            first = 0
        }
        switch entry {
        case .finished(let line): return line
        case .running(let text, let promise):
            return promise.wait().map { TargetLine(target: text, result: $0) }
        case .unasked: return nil
        }
    }

    /// Evaluates the addresses.
    private mutating func askTogether() {
        var places: [Int] = []
        var targets: [ReachabilityTarget] = []
        for place in first..<entries.count {
            guard case .unasked(_, let target) = entries[place] else { continue }
            places.append(place)
            targets.append(target)
        }
        for (place, report) in zip(places, evaluate(targets)) {
            guard case .unasked(let text, _) = entries[place] else { continue }
            entries[place] = .finished(TargetLine(target: text, result: report))
        }
    }
}
