// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// `netflags wait`.
struct Wait: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: "wait",
        abstract: "Wait until every target is reachable, or none is.",
        usage: "netflags wait [options] <target> ...",
        discussion: """
            Returns as soon as all targets are reachable at the same time, or with --until down as soon as no \
            target is. It waits for interfaces that do not exist and for names that cannot be resolved. Stdin is \
            read to its end first.

            Nothing is printed on stdout, or with --json one line at the end. When the time is over, the first \
            targets that do not meet the condition are printed on stderr with the reasons.

            Exit status: 0 the targets meet the condition, 1 the time is over, 2 the targets could not be watched, \
            64 wrong usage.
            """
    )

    private static let namedTargets = 5

    /// The conditions that `wait` waits for.
    enum Goal: String, ExpressibleByArgument, CaseIterable {
        case up
        case down
    }

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Argument(help: .targets) var targets: [String] = []

    @Option(
        number:
            "Time limit: seconds, or such as 500ms or 2m; 0 does not wait, so that no name is resolved. (default: no limit)",
        "duration", OptionValue.duration)
    var timeout: Duration?

    @Option(help: ArgumentHelp("up: every target is reachable; down: no target is.", valueName: "goal"))
    var until: Goal = .up

    @Flag(help: "Print each change and its reason on stderr.")
    var verbose = false

    @Flag(help: "Print the outcome as one JSON object on one line.")
    var json = false

    func perform() throws -> ExitStatus {
        let query = try query(socket)
        let operands = try query.operands()
        let targets = try UsageError.wrapping {
            try query.readTargets(of: operands) { throw $0 }.map { NamedTarget($0, try $1.get()) }
        }
        guard !targets.isEmpty else { throw UsageError.noTargets }
        let outcome = wait(query, targets)
        if json { try Output.standard.deliver { writeJSON(outcome, targets, to: &$0) } }
        return outcome.status
    }
}

// MARK: - Waiting

extension Wait {
    /// What the run found out: the last result of each target, and why they could not be watched.
    private typealias Outcome = (status: ExitStatus, results: [Answer?], error: ReachabilityError?)

    /// Waits, and prints why on standard error when the time is over.
    private func wait(_ query: TargetQuery, _ targets: [NamedTarget]) -> Outcome {
        let (texts, printed) = (targets.map(\.text), Locked<[Int: String]>([:]))
        let report: @Sendable (Int, Answer?) -> Void = { index, result in
            let sentence = ReachabilityReport.sentence(on: texts[index], result)
            guard printed.withLock({ $0.updateValue(sentence, forKey: index) }) != sentence else { return }
            printError(sentence)
        }
        let note = verbose ? report : nil
        let outcome = timeout == .zero ? evaluate(query, targets) : watch(query, targets, note)
        if let error = outcome.error { printError("\(error)") }
        guard verbose || outcome.status != .success, outcome.error == nil else { return outcome }
        let missing = outcome.results.indices.filter { outcome.results[$0]?.isReachable != (until == .up) }
        let shown = verbose ? Array(outcome.results.indices) : Array(missing.prefix(Self.namedTargets))
        for index in shown { report(index, outcome.results[index]) }
        if missing.count > shown.count { printError("and \(missing.count - shown.count) more targets") }
        return outcome
    }

    /// Evaluates each target once, for `--timeout 0`, which leaves no time for resolving names.
    private func evaluate(_ query: TargetQuery, _ targets: [NamedTarget]) -> Outcome {
        var query = query
        query.options.resolution.timeout = .zero
        var pending = PendingReports(query)
        for (text, target) in targets { pending.add(text, .success(target)) }
        let results = pending.takeAll().map(\.outcome)
        let isMet = results.allSatisfy { $0?.isReachable == (until == .up) }
        let missed: ExitStatus = results.contains { $0?.isReachable == nil } ? .undetermined : .unreachable
        return (isMet ? .success : missed, results, nil)
    }

    private func watch(
        _ query: TargetQuery, _ targets: [NamedTarget], _ note: (@Sendable (Int, Answer?) -> Void)?
    ) -> Outcome {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let progress = Locked(WatchProgress())
        let goal = until == .up ? WatchGoal.up : .down
        var (status, failure) = (ExitStatus.undetermined, ReachabilityError?.none)
        do throws(ReachabilityError) {
            let watcher = try QueryWatcher<ReachabilityReport> { index, result in
                note?(index, result)
                return progress.withLock { progress in
                    if let result { progress.store(result, of: index) }
                    return progress.meets(goal)
                }
            }
            for _ in targets { progress.withLock { _ = $0.addTarget() } }
            for (index, target) in targets.enumerated() {
                try watcher.add(.report(of: target.target, options: query.options, .brief), at: index)
            }
            watcher.drain()
            status = watcher.wait(for: [], until: deadline) == nil ? .unreachable : .success
            watcher.drain()
        } catch {
            failure = error
        }
        return (status, progress.withLock { $0.results }, failure)
    }

    // MARK: Output

    /// Writes an outcome as one JSON object on one line.
    private func writeJSON(_ outcome: Outcome, _ targets: [NamedTarget], to buffer: inout ByteBuffer) {
        let unreachable = targets.indices.filter { outcome.results[$0]?.isReachable != true }
        buffer.line { json in
            json.member("reached", outcome.status == .success)
            json.member("until", until.rawValue)
            json.member("targets", targets.count)
            json.member("unreachable", outcome.error == nil ? unreachable.map { targets[$0].text } : [])
            json.member("error", outcome.error?.description)
            json.member("time", Recording.Time.now.description)
        }
    }
}
