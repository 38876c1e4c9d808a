// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// `netflags wait`.
struct Wait: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .wait,
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

    @Flag(
        help:
            "Wait until something has answered, as TCP shows; with --until down, until tries have no answer.")
    var evidence = false

    @Option(
        number:
            "Time limit: seconds, or such as 500ms or 2m; 0 does not wait, so that no name is resolved. (default: no limit)",
        "duration", OptionValue.duration)
    var timeout: Duration?

    @Option(help: ArgumentHelp("up: every target is reachable; down: no target is.", valueName: "goal"))
    var until: Goal = .up

    @Flag(help: "Wait until this host would also take an answer on the interface that packets leave through.")
    var answers = false

    @Flag(help: "Print each change and its reason on stderr.")
    var verbose = false

    @Flag(help: "Print the outcome as one JSON object on one line.")
    var json = false

    func perform() throws -> ExitStatus {
        let query = try query(socket)
        let operands = try query.operands()
        let read = try query.readTargets(of: operands)
        let targets = try UsageError.wrapping { try read.map { NamedTarget($0, try $1.get()) } }
        guard !targets.isEmpty else { throw UsageError.noTargets }
        let outcome = wait(query, targets)
        if json { try Output.standard.deliver { writeJSON(outcome, targets, to: &$0) } }
        return outcome.status
    }
}

// MARK: - Waiting

extension Wait {
    /// The result of the run: the last result of each target, and the error if the targets could not be watched.
    private typealias Outcome = (status: ExitStatus, results: [WaitResult?], error: ReachabilityError?)

    /// Waits.
    ///
    /// If the time-out ends first, prints the reasons on standard error.
    private func wait(_ query: TargetQuery, _ targets: [NamedTarget]) -> Outcome {
        let (texts, printed) = (targets.map(\.text), Locked<[Int: String]>([:]))
        let report: @Sendable (Int, WaitResult?) -> Void = { index, result in
            let sentence = result?.sentence ?? ReachabilityReport.sentence(on: texts[index], nil)
            guard printed.withLock({ $0.updateValue(sentence, forKey: index) }) != sentence else { return }
            printError(sentence)
        }
        let note = verbose ? report : nil
        let outcome =
            if evidence {
                run(query, targets, note, { .evidence(of: $0, options: $1) }, WaitResult.init(_:_:))
            } else if answers {
                run(
                    query, targets, note, { .report(of: $0, options: $1, .full, onChangeOf: .report) },
                    WaitResult.init(countingAnswers:_:))
            } else {
                run(query, targets, note, { .report(of: $0, options: $1, .brief) }, WaitResult.init(_:_:))
            }
        if let error = outcome.error { printError("\(error)") }
        guard verbose || outcome.status != .success, outcome.error == nil else { return outcome }
        let missing = outcome.results.indices.filter { outcome.results[$0]?.isUp != (until == .up) }
        let shown = verbose ? Array(outcome.results.indices) : Array(missing.prefix(Self.namedTargets))
        for index in shown { report(index, outcome.results[index]) }
        if missing.count > shown.count { printError("and \(missing.count - shown.count) more targets") }
        return outcome
    }

    /// Evaluates each target once, or watches the targets until all meet the condition or the time-out ends.
    private func run<Value>(
        _ query: TargetQuery, _ targets: [NamedTarget], _ note: (@Sendable (Int, WaitResult?) -> Void)?,
        _ makeQuery: (ReachabilityTarget, ReachabilityOptions) -> NetworkQuery<Value>,
        _ makeResult: @escaping @Sendable (String, Result<Value, ReachabilityError>) -> WaitResult
    ) -> Outcome {
        let (goal, texts) = (until == .up, targets.map(\.text))
        var options = query.options
        // With a time-out of zero, there is no time for resolving names either.
        if timeout == .zero { options.resolution.timeout = .zero }
        let queries = targets.map { makeQuery($0.target, options) }
        guard timeout != .zero else {
            let results = zip(texts, NetworkSource.kernel.blockingValues(of: queries)).map(makeResult)
            let missed: ExitStatus = results.contains { $0.isUp == nil } ? .undetermined : .unreachable
            return (results.allSatisfy { $0.isUp == goal } ? .success : missed, results, nil)
        }
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let progress = Locked(WatchProgress<WaitResult>(count: targets.count, \.isUp))
        var (status, failure) = (ExitStatus.undetermined, ReachabilityError?.none)
        do throws(ReachabilityError) {
            let watcher = try QueryWatcher<Value> { index, result in
                let result = result.map { makeResult(texts[index], $0) }
                note?(index, result)
                return progress.withLock { progress in
                    if let result { progress.store(result, of: index) }
                    return progress.meets(goal ? .up : .down)
                }
            }
            for (index, query) in queries.enumerated() { try watcher.add(query, at: index) }
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
        let unreachable = targets.indices.filter { outcome.results[$0]?.isUp != true }
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

/// The last result of a target that is waited for.
private struct WaitResult {
    /// Whether the target is reachable, or a host has answered; `nil` if that is not known.
    let isUp: Bool?
    let sentence: String

    init(_ text: String, _ answer: Answer) {
        isUp = answer.isReachable
        sentence = ReachabilityReport.sentence(on: text, answer)
    }

    /// If this host drops answers, the target does not count as reachable.
    init(countingAnswers text: String, _ answer: Answer) {
        isUp = answer.receivesAnswers
        sentence = ReachabilityReport.sentence(on: text, answer)
    }

    /// With too few tries, it is not known whether hosts answer.
    init(_ text: String, _ evidence: Result<NetworkEvidence, ReachabilityError>) {
        let found = try? evidence.get()
        isUp = found.flatMap { $0.verdict == .none ? nil : !$0.isSilent }
        sentence = "\(text): \(found?.description ?? "not evaluated: \(evidence.failure?.description ?? "")")"
    }
}
