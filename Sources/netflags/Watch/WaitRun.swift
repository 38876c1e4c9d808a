// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// A run of `netflags wait`: waits until the targets meet the goal.
struct WaitRun {
    private static let namedTargets = 5

    let query: TargetQuery
    /// ``WatchGoal/up`` or ``WatchGoal/down``.
    let goal: WatchGoal
    /// `nil` for no limit.
    let timeout: Duration?
    let isVerbose: Bool
    let targets: [(text: String, target: ReachabilityTarget)]

    /// What the run found out.
    struct Outcome {
        let status: ExitStatus
        /// The last result of each target.
        let results: [Result<ReachabilityReport, ReachabilityError>?]
        /// Why the targets could not be watched.
        let error: String?
    }

    /// Waits, and prints why on standard error when the time is over.
    func run() -> Outcome {
        let outcome = timeout == .zero ? evaluate() : watch()
        if let error = outcome.error { printError(error) }
        guard outcome.status != .success, outcome.error == nil else { return outcome }
        let missing = outcome.results.indices.filter { outcome.results[$0]?.isReachable != (goal == .up) }
        for index in missing.prefix(Self.namedTargets) {
            printError(Self.sentence(targets[index].text, outcome.results[index]))
        }
        if missing.count > Self.namedTargets {
            printError("and \(missing.count - Self.namedTargets) more targets")
        }
        return outcome
    }

    /// Evaluates each target once, for `--timeout 0`, which leaves no time for resolving names.
    private func evaluate() -> Outcome {
        var progress = WatchProgress()
        var query = query
        query.options.resolutionTimeout = .zero
        var pending = PendingReports(query)
        for (text, target) in targets {
            _ = progress.addTarget()
            pending.add(text, .success(target))
        }
        var index = 0
        pending.takeAll(beforeWaiting: {}) { line in
            if let result = line.outcome { progress.store(result, of: index) }
            index += 1
        }
        let isUndetermined = progress.results.contains { $0 != nil && $0?.isReachable == nil }
        let missed: ExitStatus = isUndetermined ? .undetermined : .unreachable
        let status = progress.meets(goal) ? .success : missed
        return Outcome(status: status, results: progress.results, error: nil)
    }

    private func watch() -> Outcome {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let progress = Locked(WatchProgress())
        let (goal, isVerbose, texts) = (goal, isVerbose, targets.map(\.text))
        var failure: ReachabilityError?
        var isMet = false
        do throws(ReachabilityError) {
            let watcher = try TargetWatcher(query.options, .brief) { index, result in
                if isVerbose { printError(Self.sentence(texts[index], result)) }
                return progress.withLock { progress in
                    if let result { progress.store(result, of: index) }
                    return progress.meets(goal)
                }
            }
            for _ in targets { progress.withLock { _ = $0.addTarget() } }
            for (index, target) in targets.enumerated() { try watcher.add(target.target, at: index) }
            watcher.drain()
            isMet = watcher.wait(for: [], until: deadline) != nil
            watcher.drain()
        } catch {
            failure = error
        }
        let results = progress.withLock { $0.results }
        let status: ExitStatus = failure != nil ? .undetermined : isMet ? .success : .unreachable
        return Outcome(status: status, results: results, error: failure?.description)
    }

    // MARK: Output

    private static func sentence(_ target: String, _ result: Result<ReachabilityReport, ReachabilityError>?)
        -> String
    {
        switch result {
        case .success(let report):
            "\(target) is \(report.isReachable ? "" : "not ")reachable: \(report.reason)"
        case .failure(let error): "\(target) could not be evaluated: \(error)"
        case nil: "\(target) is not resolved yet"
        }
    }

    /// Writes an outcome as one JSON object on one line.
    func writeJSON(_ outcome: Outcome, to buffer: inout ByteBuffer) {
        let unreachable = targets.indices.filter { outcome.results[$0]?.isReachable != true }
        buffer.line { json in
            json.member("reached", outcome.status == .success)
            json.member("until", goal.rawValue)
            json.member("targets", targets.count)
            json.member("unreachable", outcome.error == nil ? unreachable.map { targets[$0].text } : [])
            json.member("error", outcome.error)
            json.member("time", Recording.Time.now.description)
        }
    }
}
