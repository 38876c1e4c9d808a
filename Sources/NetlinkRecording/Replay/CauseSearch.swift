// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// Finds the events that change answers.
///
/// After each event, it evaluates the queries that have read a fact which the event changes.
///
/// Only the facts behind the newest answer of a query decide whether an event affects the query. Other queries and
/// the times of the monitor's evaluations have no effect.
struct CauseSearch {
    /// The most events to which other events can belong.
    private static let rootLimit = 1_024
    /// The most events affecting a query that are stored.
    private static let touchLimit = 64

    /// The dependencies of the queries' answers, each with the number of its evaluation.
    private var scopes: [Int: (evaluation: Int, scope: QueryScope)] = [:]
    /// The events that changed an answer, by number.
    private var events: [Int: Recording.Event] = [:]
    /// The events of links and addresses, which cause further events in the kernel.
    private var roots: [Recording.Event] = []
    private var next = 0
    /// The events that affect a query, by the query's number; empty if they are not stored.
    private var touches: [Int: [Int]] = [:]
    /// Whether events that affect a query are stored, and not only those that change an answer.
    private let keepsTouches: Bool
    /// The event that is being applied, and the queries that it affects.
    private var pending: (event: Recording.Event, queries: [Int])?

    init(keepsTouches: Bool = false) {
        self.keepsTouches = keepsTouches
    }

    // MARK: Events

    /// The queries whose answers a change can affect.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - trace: The queries.
    ///   - before: The network before the change.
    /// - Returns: The numbers of the queries.
    mutating func touched<Value>(
        by change: NetworkChange,
        _ trace: inout AnswerTrace<Value>,
        in before: NetworkSnapshot
    ) -> [Int] {
        switch change {
        case .route(let route, _), .removedRoute(let route): return trace.numbers(in: route.destination)
        case .link, .removedLink, .address, .removedAddress, .rule, .removedRule, .nexthop, .removedNexthop,
            .neighbour, .removedNeighbour, .settings:
            break
        }
        var found: [Int] = []
        for number in trace.evaluated {
            let reading = trace.hostReading(of: number)
            let isRead = reading.contains(.tables) || reading.contains(.names) && before.renames(change)
            if isRead || scope(of: number, trace, in: before).contains(change, in: [before]) {
                found.append(number)
            }
        }
        return found
    }

    private mutating func scope<Value>(
        of number: Int, _ trace: AnswerTrace<Value>, in network: NetworkSnapshot
    ) -> QueryScope {
        let evaluation = trace.evaluations(of: number)
        if let known = scopes[number], known.evaluation == evaluation { return known.scope }
        let scope = QueryScope(trace.routeQueries(of: number), in: [network])
        scopes[number] = (evaluation, scope)
        return scope
    }

    /// Whether an event of this kind can be the main event of others, so that it has to be recorded.
    static func isRoot(_ change: NetworkChange) -> Bool {
        switch change {
        case .link, .removedLink, .address, .removedAddress: true
        case .route, .removedRoute, .rule, .removedRule, .nexthop, .removedNexthop, .neighbour,
            .removedNeighbour, .settings:
            false
        }
    }

    /// Records an event before it is applied.
    mutating func record(_ event: Recording.Event, touching queries: [Int]) {
        if Self.isRoot(event.change) {
            if roots.count == Self.rootLimit { roots.removeFirst(Self.rootLimit / 2) }
            roots.append(event)
        }
        if !queries.isEmpty { pending = (event, queries) }
    }

    /// Whether queries have to be evaluated after the recorded event.
    var isPending: Bool { pending != nil }

    /// Evaluates the queries that the recorded event affects, after the event was applied.
    mutating func evaluate<Value>(_ trace: inout AnswerTrace<Value>, on network: RecordedRouting) {
        guard let (event, queries) = pending else { return }
        pending = nil
        next += 1
        if trace.evaluate(queries, after: next, on: network) || keepsTouches { events[next] = event }
        guard keepsTouches else { return }
        for query in queries where touches[query, default: []].count < Self.touchLimit {
            touches[query, default: []].append(next)
        }
    }

    // MARK: Causes

    /// Whether the main event of an event is known.
    ///
    /// For some events, the main event comes later.
    func isWhole(_ number: Int) -> Bool { events[number].map(isWhole) ?? true }

    /// See ``isWhole(_:)-(Int)``.
    func isWhole(_ event: Recording.Event) -> Bool {
        !event.comesFirst || roots.contains { event.belongs(to: $0) }
    }

    /// The event with a number or its main event, and the time of the earlier of the two.
    func cause(_ number: Int) -> (event: Recording.Event, time: Recording.Time)? {
        guard let event = events[number] else { return nil }
        // The nearest in time, because the kernel makes all parts of a change at once.
        let root = roots.filter { event.belongs(to: $0) }.min {
            abs($0.time.duration(to: event.time)) < abs($1.time.duration(to: event.time))
        }
        return (root ?? event, min(event.time, root?.time ?? event.time))
    }

    /// The event after which a query had a certain answer of the kernel, or the candidates for it; empty if none is
    /// known.
    ///
    /// The event is the last one that made the tables give the answer. If the tables never give the answer, each
    /// event that affects the query is a candidate. If the tables gave the answer before the stored events, no event
    /// is known. Events up to the last event after which the query had this answer are not considered again.
    mutating func causes<Value>(
        of answer: AnswerTrace<Value>.Answer,
        to number: Int,
        _ trace: inout AnswerTrace<Value>
    ) -> [Recording.Event] {
        let step = trace.settle(number, upTo: answer)
        let others = trace.isNewest(answer, of: number) ? [] : touches[number] ?? []
        let found = step.map { [$0.event] } ?? others
        if let step { touches[number]?.removeAll { $0 <= step.event } } else { touches[number] = nil }
        var events: [Recording.Event] = []
        for event in found.compactMap({ cause($0)?.event }) where !events.contains(event) {
            events.append(event)
        }
        return events
    }

    /// Forgets the events that affect a query.
    mutating func forget(_ number: Int) {
        touches[number] = nil
    }

    /// Whether no event that affects a query is stored.
    var isSettled: Bool { touches.isEmpty }

    /// Forgets the events, because their effects are settled.
    mutating func forget() {
        if !events.isEmpty { events = [:] }
        if !roots.isEmpty { roots = [] }
        if !touches.isEmpty { touches = [:] }
    }
}

private func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }

extension NetworkSnapshot {
    /// Whether another interface has a name after a change.
    fileprivate func renames(_ change: NetworkChange) -> Bool {
        switch change {
        case .link(let report):
            let old = links[report.link.index]
            let new = report.merged(into: old)
            return new.name != old?.name || new.alternativeNames != old?.alternativeNames
        case .removedLink: return true
        default: return false
        }
    }
}
