// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import SystemSupport

/// Targets that wait for their evaluation, and names that are resolved meanwhile.
///
/// An address takes microseconds. Consecutive addresses are evaluated together, when their turn comes. A name can
/// take seconds and gets a thread of its own, up to ``threadLimit``.
struct PendingReports {
    /// The most names that are resolved at the same time.
    static let threadLimit = 64
    /// The most targets that wait for an earlier one: two datagrams of queries.
    ///
    /// With 256, the allocator returns their memory to the kernel after each batch, and gets it again.
    private static let capacity = 64

    private enum State {
        case invalid(ReachabilityError)
        /// A name. A thread stores the result and then signals.
        case running(Locked<Answer?>, DispatchSemaphore)
        case address(ReachabilityTarget)
    }

    private let options: ReachabilityOptions
    private let detail: ReachabilityReport.Detail
    private let source: NetworkSource
    /// Whether to also read evidence of answers.
    private let hasEvidence: Bool
    private let threads = DispatchSemaphore(value: threadLimit)
    /// The oldest entry comes first.
    private var entries: [(text: String, state: State)] = []

    /// - Parameters:
    ///   - query: The socket of the queries, and the detail of the reports.
    ///   - source: The network.
    init(_ query: TargetQuery, _ source: NetworkSource = .kernel) {
        (options, detail) = (query.options, query.explains ? .full : .brief)
        self.source = source
        hasEvidence = query.explains || query.format == .prometheus
    }

    /// Whether the results have to be read before more targets are added.
    var isFull: Bool { entries.count >= Self.capacity }

    /// Adds a target, or a line that could not be parsed.
    mutating func add(_ text: String, _ target: ParsedTarget) {
        switch target {
        case .success(let target): entries.append((text, target.isName ? resolve(target) : .address(target)))
        case .failure(let error): entries.append((text, .invalid(error)))
        }
    }

    /// Evaluates a name on another thread; on this thread if none can be started.
    ///
    /// Waits while ``threadLimit`` names are being resolved.
    private func resolve(_ target: ReachabilityTarget) -> State {
        let (result, done) = (Locked<Answer?>(nil), DispatchSemaphore(value: 0))
        let evaluate: @Sendable () -> Void = { [threads, options, detail, source] in
            let answer = source.blockingValues(of: [.report(of: target, options: options, detail)])
            result.withLock { $0 = answer.first }
            done.signal()
            threads.signal()
        }
        threads.wait()
        if !BackgroundThread.start("netflags-name", evaluate) { evaluate() }
        return .running(result, done)
    }

    /// Removes all targets, and passes their results to the body, oldest first.
    ///
    /// - Parameters:
    ///   - beforeWaiting: Called before a wait for a name, which can be long.
    ///   - body: Receives the results.
    mutating func evaluateAll(beforeWaiting: () throws -> Void, _ body: (TargetLine) -> Void) rethrows {
        var index = 0
        while index < entries.count {
            let outcomes: [Answer?]
            switch entries[index].state {
            case .invalid(let error): outcomes = [.failure(error)]
            case .running(let result, let done):
                try beforeWaiting()
                done.wait()
                outcomes = [result.withLock { $0 }]
            case .address: outcomes = source.blockingValues(of: addresses(from: index))
            }
            let lines = zip(entries[index...], outcomes).map { TargetLine(target: $0.text, outcome: $1) }
            for line in withEvidence(lines) { body(line) }
            index += outcomes.count
        }
        entries.removeAll(keepingCapacity: true)
    }

    /// Adds evidence of answers to the lines.
    ///
    /// It is read once for all of them.
    private func withEvidence(_ lines: [TargetLine]) -> [TargetLine] {
        guard hasEvidence else { return lines }
        var lines = lines
        let queries = lines.indices.compactMap { index in
            lines[index].outcome?.evidenceQuery(options).map { (index: index, query: $0) }
        }
        for (place, result) in zip(queries, source.blockingValues(of: queries.map(\.query))) {
            lines[place.index].evidence = result
        }
        return lines
    }

    /// Removes all targets, and returns their results, oldest first.
    mutating func evaluateAll() -> [TargetLine] {
        var lines: [TargetLine] = []
        evaluateAll(beforeWaiting: {}, { lines.append($0) })
        return lines
    }

    /// The queries for the consecutive addresses from an index on.
    private func addresses(from index: Int) -> [NetworkQuery<ReachabilityReport>] {
        var queries: [NetworkQuery<ReachabilityReport>] = []
        queries.reserveCapacity(entries.count - index)
        for entry in entries[index...] {
            guard case .address(let target) = entry.state else { break }
            queries.append(.report(of: target, options: options, detail))
        }
        return queries
    }
}
