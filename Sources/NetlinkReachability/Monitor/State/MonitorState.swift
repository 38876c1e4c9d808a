// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The state of the monitor, and its next actions: a pure state machine, without a clock and without I/O.
///
/// The caller passes events with their instants, performs the actions that ``advance(to:)`` returns, and reports
/// their results. The state machine identifies observations only by their numbers.
struct MonitorState: Sendable {
    typealias ID = ObservationID

    /// The actions for the caller.
    struct Actions: Sendable {
        /// The actions to perform before the evaluations.
        ///
        /// Almost always empty, which needs no memory.
        var others: [Action]
        /// The observations to evaluate.
        ///
        /// The caller reports each result with ``MonitorState/evaluated(_:_:at:)``.
        var evaluations: [ID]

        var isEmpty: Bool { others.isEmpty && evaluations.isEmpty }
    }

    /// An action other than an evaluation.
    enum Action: Hashable, Sendable {
        /// Report to an observation that its deadline has passed.
        case expire(ID)
        /// Resolve an observation's name. The caller reports the result exactly once, with
        /// ``MonitorState/resolved(_:generation:_:at:)``.
        case resolve(ID, generation: UInt32)
        /// Look up the default path. The caller reports it with ``MonitorState/Names/sawPath(_:)``.
        case lookAtPath
    }

    /// The observations to evaluate at the end of the burst of events.
    struct Pending: Sendable {
        var isAll = false
        var prefixes = SmallSet<IPPrefix>()
        var ids: Set<ID> = []
        /// The times of the first and the last event; `nil` if there were none.
        var burst: (first: MonitorInstant, last: MonitorInstant)?
    }

    /// The most prefixes that are stored before their observations are looked up.
    static let prefixLimit = 1_024

    /// The addresses that the answer to each observation depends on, without zones.
    var records = ObservationTable<SmallSet<IPAddress>>()
    /// When routes expire that answers depend on.
    var expiries = Timetable()
    var index = AddressIndex()
    var names = Names()
    /// The observations that depend on the configured name servers.
    var nameserverReaders: Set<ID> = []
    /// The observations that depend on hardware addresses of neighbours.
    var neighbourReaders: Set<ID> = []
    /// The observations that depend on answers to this host's TCP connections.
    var answerReaders: Set<ID> = []
    /// The evidence that observations of answers have stored.
    var memories: [ID: Box<EvidenceMemory>] = [:]
    /// When to use a changed configuration of the resolver; `nil` if it has not changed.
    var resolverChangeDue: MonitorInstant?
    /// When observations expire.
    var deadlines = Timetable()
    /// The observations to evaluate now, in reverse order.
    var pass: [ID] = []
    /// Why the observations of ``pass`` and of ``chunk`` are evaluated, for a trace.
    var causes: NetworkTrace.Causes = []
    /// Whether all observations with these causes have been evaluated.
    var areCausesUsed = false
    /// The observations that ``advance(to:)`` returned last.
    ///
    /// Kept so that its memory is reused.
    var chunk: [ID] = []
    var pending = Pending()
    /// Whether everything has to be evaluated periodically, because the kernel does not notify of every change.
    var isPolling = false

    /// When a burst was last evaluated.
    var lastEvaluation: MonitorInstant?
    var secondLookDue: MonitorInstant?
    var routeRemovals = PendingRouteRemovals()
    var routineDue: MonitorInstant?
    var overrun = Overrun()
    var failures = Failures()
    /// When the monitor last looked for expired routes.
    var lastExpiryScan: MonitorInstant?
    var polls: UInt64 = 0
}

// MARK: - Observations

extension MonitorState {
    /// Adds an observation, which is evaluated at once.
    ///
    /// - Parameters:
    ///   - id: Its number.
    ///   - isName: Whether the observation has a name, which is resolved first.
    ///   - inputs: What the observation depends on besides routes and interfaces.
    ///   - deadline: When the observation expires; `nil` for never.
    ///   - now: The present.
    mutating func insert(
        _ id: ID,
        isName: Bool = false,
        inputs: QueryInputs = [],
        deadline: MonitorInstant? = nil,
        at now: MonitorInstant
    ) {
        if records.isEmpty { routineDue = now + routinePeriod }
        records[id] = SmallSet()
        if inputs.contains(.nameservers) { nameserverReaders.insert(id) }
        if inputs.contains(.neighbours) { neighbourReaders.insert(id) }
        if inputs.contains(.answers) { answerReaders.insert(id) }
        deadlines.set(id, to: deadline)
        if isName {
            names.insert(id)
        } else {
            pass.append(id)
            note(.beginning)
        }
    }

    /// Removes an observation.
    ///
    /// Later reports about it are ignored.
    mutating func remove(_ id: ID) {
        guard let addresses = records[id] else { return }
        records[id] = nil
        names.remove(id)
        expiries.set(id, to: nil)
        nameserverReaders.remove(id)
        neighbourReaders.remove(id)
        answerReaders.remove(id)
        if !memories.isEmpty { memories[id] = nil }
        deadlines.set(id, to: nil)
        failures.ids.remove(id)
        reindex(id, from: addresses)
        if records.isEmpty {
            pass = []
            pending = Pending()
            routeRemovals = PendingRouteRemovals()
            (secondLookDue, routineDue, resolverChangeDue) = (nil, nil, nil)
        }
    }

    /// Records the result of an evaluation.
    ///
    /// - Parameters:
    ///   - id: The observation.
    ///   - dependencies: What the answer depends on; `nil` if the evaluation failed.
    ///   - now: The present.
    mutating func evaluated(_ id: ID, _ dependencies: consuming RouteDependencies?, at now: MonitorInstant) {
        guard let known = records[id] else { return }
        guard let dependencies = consume dependencies else { return failures.insert(id, at: now) }
        failures.forget(id)
        if let memory = dependencies.memory { memories[id] = memory }
        expiries.set(id, to: dependencies.lifetime.flatMap { Self.expiry(ticks: $0, from: now) })
        records[id] = dependencies.addresses
        reindex(id, from: known)
    }

    /// The stored evidence of an observation of answers; `nil` before its first evaluation, and for other
    /// observations.
    func memory(of id: ID) -> Box<EvidenceMemory>? {
        guard !memories.isEmpty, let memory = memories[id] else { return nil }
        // The network has changed, or may have.
        guard causes == .expiry else { return Box(memory.value.withoutRoutes) }
        return memory
    }

    /// The earliest time at which an observation of answers was last evaluated; `nil` if none was.
    var lastAnswerReading: MonitorInstant? {
        memories.values.map(\.value.time).min().map(MonitorInstant.init(milliseconds:))
    }

    /// Records that a connection was closed, which can be an answer.
    mutating func socketsClosed(at now: MonitorInstant) {
        for (id, memory) in memories {
            expiries.advance(id, to: max(now, MonitorInstant(milliseconds: memory.value.nextReading)))
        }
    }

    /// Makes the observations of answers due: a recording states another verdict.
    mutating func noteAnswers(at now: MonitorInstant) {
        for id in answerReaders { expiries.set(id, to: now) }
    }

    /// Postpones all evaluations that are due now, because the source does not answer in time.
    mutating func stall(_ rest: some Sequence<ID>, at now: MonitorInstant) {
        for id in rest where records[id] != nil { failures.insert(id, at: now) }
        for id in pass where records[id] != nil { failures.insert(id, at: now) }
        pass = []
    }

    private static func expiry(ticks: Int32, from now: MonitorInstant) -> MonitorInstant? {
        // A route that has expired already has no further effect.
        ticks > 0 ? now + (MonitorTiming.tick * Int(ticks) + MonitorTiming.expiryGrace) : nil
    }

    private mutating func reindex(_ id: ID, from old: SmallSet<IPAddress>) {
        index.update(id, from: old, to: records[id] ?? SmallSet()) { [records] id, address in
            records[id]?.contains(address) ?? false
        }
    }
}

// Times of scheduled work.
extension MonitorState {
    /// The period after which everything is evaluated without a cause.
    var routinePeriod: Duration {
        isPolling ? MonitorTiming.polling : MonitorTiming.safety
    }

    /// When to call ``advance(to:)`` next if nothing happens before; `nil` for never.
    ///
    /// An instant in the past means that there is work now.
    var deadline: MonitorInstant? {
        if !pass.isEmpty || names.hasWork { return .distantPast }
        // Compared one by one: an array would allocate memory for each event.
        var earliest: MonitorInstant?
        func consider(_ instant: MonitorInstant?) {
            if let instant { earliest = min(earliest ?? instant, instant) }
        }
        consider(burstDue)
        consider(secondLookDue)
        consider(routeRemovals.due)
        consider(routineDue)
        consider(expiryDue)
        consider(failures.due)
        consider(names.due)
        consider(resolverChangeDue)
        consider(deadlines.earliest)
        return earliest
    }

    /// Returns the actions that are due.
    ///
    /// Call this until no action is returned, and read notifications between the calls.
    mutating func advance(to now: MonitorInstant) -> Actions {
        // Includes the deadlines of event queries, which are not evaluated.
        let expired = deadlines.popDue(at: now).sorted().map(Action.expire)
        guard !records.isEmpty else { return Actions(others: expired, evaluations: []) }
        collectDue(now)
        let others = expired + names.actions(at: now)
        fillChunk()
        return Actions(others: others, evaluations: chunk)
    }

    /// The instant at which the burst of events is evaluated; `nil` without a burst.
    var burstDue: MonitorInstant? {
        guard let burst = pending.burst else { return nil }
        var due = burst.first
        if let lastEvaluation, burst.first < lastEvaluation + MonitorTiming.leading {
            due = max(burst.last + MonitorTiming.trailing, lastEvaluation + MonitorTiming.leading)
            due = min(due, burst.first + MonitorTiming.burstLimit)
        }
        if let pause = overrun.due { due = max(due, pause) }
        if overrun.isCongested, let last = overrun.last {
            due = max(due, last + MonitorTiming.overrunPauseLimit)
        }
        return due
    }

    private var expiryDue: MonitorInstant? {
        guard let earliest = expiries.earliest else { return nil }
        return max(earliest, lastExpiryScan.map { $0 + MonitorTiming.expirySpacing } ?? earliest)
    }

    private mutating func collectDue(_ now: MonitorInstant) {
        let failed = failures.popDue(at: now)
        if !failed.isEmpty {
            pass.append(contentsOf: failed)
            note(.failure)
        }
        if let due = resolverChangeDue, due <= now {
            resolverChangeDue = nil
            names.refreshAll()
            pass.append(contentsOf: nameserverReaders)
            note(.resolution)
        }
        if let due = expiryDue, due <= now {
            lastExpiryScan = now
            pass.append(contentsOf: expiries.popDue(at: now))
            note(.expiry)
        }
        if let due = routineDue, due <= now {
            if isPolling { polls += 1 }
            evaluateAll(at: now)
            note(.routine)
        }
        if let due = secondLookDue, due <= now {
            secondLookDue = nil
            evaluateAll(at: now)
            note(.secondLook)
        }
        if let due = burstDue, due <= now { evaluateBurst(now) }
        if let prefixes = routeRemovals.popDue(at: now) {
            evaluate(Pending(prefixes: prefixes))
            note(.secondLook)
        }
    }

    /// Adds a cause for the next evaluations.
    ///
    /// The causes of finished evaluations are dropped.
    mutating func note(_ cause: NetworkTrace.Causes) {
        if areCausesUsed { causes = [] }
        areCausesUsed = false
        causes.insert(cause)
    }

    private mutating func evaluateBurst(_ now: MonitorInstant) {
        // Observations that are evaluated while notifications are still being lost have to be evaluated once more.
        let isCongested = overrun.isCongested
        let pending = pending
        note(overrun.isCause ? .lostNotifications : .notification)
        overrun.isCause = false
        lastEvaluation = now
        if let burst = pending.burst, burst.last + MonitorTiming.secondLook <= now {
            // The kernel has removed these routes by now.
            routeRemovals = PendingRouteRemovals()
        }
        if pending.isAll {
            evaluateAll(at: now)
        } else {
            self.pending = Pending()
            evaluate(pending)
            names.retryAll()
        }
        if isCongested {
            self.pending.isAll = true
            self.pending.burst = (now, now)
            overrun.last = now
        } else {
            overrun.due = nil
        }
    }

    private mutating func evaluate(_ pending: Pending) {
        // Also looks for duplicates among observations that are already due, unless there are many: a removed route
        // is often evaluated again during the next burst.
        let first = pass.count <= NetworkFacts.batchLimit ? 0 : pass.count
        if !pending.ids.isEmpty { pass.append(contentsOf: pending.ids) }
        pending.prefixes.each { prefix in
            index.forEach(in: prefix) { pass.append($0) }
        }
        // An observation with several addresses, or in nested prefixes, is found more than once.
        guard pass.count - first > 1 else { return }
        let ids = Set(pass[first...])
        guard ids.count < pass.count - first else { return }
        pass.removeSubrange(first...)
        pass.append(contentsOf: ids)
    }

    /// Evaluates everything, including all pending observations.
    mutating func evaluateAll(at now: MonitorInstant) {
        pass = records.ids
        routineDue = now + routinePeriod
        lastEvaluation = now
        pending = Pending()
        names.retryAll()
    }

    /// Moves the next observations to evaluate to ``chunk``.
    private mutating func fillChunk() {
        if !chunk.isEmpty { chunk.removeAll(keepingCapacity: true) }
        while chunk.count < NetworkFacts.batchLimit, let id = pass.popLast() {
            guard records[id] != nil, !names.isUnresolved(id) else { continue }
            chunk.append(id)
        }
        areCausesUsed = pass.isEmpty
        // Frees the memory after a burst that affected all observations.
        if pass.isEmpty, pass.capacity > 4 * Self.prefixLimit { pass = [] }
    }
}

/// The inputs on which an answer can depend besides routes and interfaces.
struct QueryInputs: OptionSet, Sendable {
    let rawValue: UInt8

    /// The configured name servers.
    static let nameservers = QueryInputs(rawValue: 1)
    /// The hardware addresses of neighbours that ``Known/note(address:)`` records.
    static let neighbours = QueryInputs(rawValue: 2)
    /// Answers to this host's TCP connections.
    static let answers = QueryInputs(rawValue: 4)
}

/// Routes whose removal the kernel has notified and may not have finished.
///
/// The kernel notifies of the removal of an IPv4 route before it removes the route. A query on another processor can
/// still get the old answer, and no further notification follows.
struct PendingRouteRemovals: Sendable {
    private var prefixes = SmallSet<IPPrefix>()
    /// The prefixes that were added while an evaluation of the others was scheduled.
    private var later = SmallSet<IPPrefix>()
    /// When to evaluate the prefixes again; `nil` if there are none.
    private(set) var due: MonitorInstant?

    /// The number of prefixes.
    var count: Int { prefixes.count + later.count }

    /// Adds a prefix, which is evaluated again after the kernel has removed its route.
    mutating func insert(_ prefix: IPPrefix, at now: MonitorInstant) {
        if due == nil {
            due = now + MonitorTiming.secondLook
            prefixes.insert(prefix)
        } else {
            later.insert(prefix)
        }
    }

    /// Removes and returns the prefixes to evaluate now.
    mutating func popDue(at now: MonitorInstant) -> SmallSet<IPPrefix>? {
        guard let due, due <= now else { return nil }
        defer {
            (prefixes, later) = (later, SmallSet())
            self.due = prefixes.count == 0 ? nil : now + MonitorTiming.secondLook
        }
        return prefixes
    }
}
