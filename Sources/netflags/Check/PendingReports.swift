// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import SystemSupport

/// Evaluates targets side by side, and returns the results in the order of the targets.
///
/// An address takes microseconds and is evaluated by the caller of ``add(_:_:)``. A name can take seconds and
/// gets a thread of its own, up to ``threadLimit``.
struct PendingReports {
    typealias Evaluation = @Sendable () -> Result<ReachabilityReport, ReachabilityError>

    /// Names that are resolved at the same time.
    static let threadLimit = 64
    /// Results that wait for an earlier one at most.
    private static let capacity = 4_096

    /// A result that a thread finds.
    private final class Promise: Sendable {
        private let result = Locked<Result<ReachabilityReport, ReachabilityError>?>(nil)
        private let done = DispatchSemaphore(value: 0)

        func fulfil(_ value: Result<ReachabilityReport, ReachabilityError>) {
            result.withLock { $0 = value }
            done.signal()
        }

        /// Waits for the result; called once.
        func wait() -> Result<ReachabilityReport, ReachabilityError>? {
            done.wait()
            return result.withLock { $0 }
        }
    }

    private enum Entry {
        case finished(TargetLine)
        case running(String, Promise)
    }

    private let threads = DispatchSemaphore(value: threadLimit)
    /// Oldest first.
    private var entries: [Entry] = []
    private var first = 0

    /// Whether no result is waiting to be taken.
    var isEmpty: Bool { first == entries.count }

    /// Whether results have to be taken before more targets are added.
    var isFull: Bool { entries.count - first >= Self.capacity }

    /// Adds a result that is known.
    mutating func add(_ line: TargetLine) {
        entries.append(.finished(line))
    }

    /// Starts an evaluation on a thread; waits while ``threadLimit`` others run.
    mutating func start(_ target: String, _ evaluation: @escaping Evaluation) {
        let (promise, threads) = (Promise(), threads)
        threads.wait()
        let hasThread = BackgroundThread.start("netflags-name") {
            promise.fulfil(evaluation())
            threads.signal()
        }
        if !hasThread {
            threads.signal()
            promise.fulfil(evaluation())
        }
        entries.append(.running(target, promise))
    }

    /// Removes the oldest result, and waits for it; `nil` when there is none.
    mutating func next() -> TargetLine? {
        guard !isEmpty else { return nil }
        let entry = entries[first]
        first += 1
        if isEmpty {
            entries.removeAll(keepingCapacity: true)
            first = 0
        }
        switch entry {
        case .finished(let line): return line
        case .running(let target, let promise):
            return promise.wait().map { TargetLine(target: target, result: $0) }
        }
    }
}
