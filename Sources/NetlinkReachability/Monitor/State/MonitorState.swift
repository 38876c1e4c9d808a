// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What the monitor knows and has to do next: a pure state machine, without a clock and without I/O.
///
/// The caller feeds timestamped events, performs the actions that ``advance(to:)`` returns, and reports their results.
/// The state machine knows observations by their numbers only.
struct MonitorState: Sendable {
    typealias ID = ObservationID

    /// What the caller has to do now.
    struct Actions: Sendable {
        /// What is done first; almost always nothing, which needs no memory.
        var others: [Action]
        /// The observations to evaluate, each to be reported with ``MonitorState/evaluated(_:_:at:)``.
        var evaluations: [ID]

        var isEmpty: Bool { others.isEmpty && evaluations.isEmpty }
    }

    /// Something for the caller to do, other than an evaluation.
    enum Action: Hashable, Sendable {
        /// Tell an observation that its deadline has passed.
        case expire(ID)
        /// Resolve an observation's name, and report the result with
        /// ``MonitorState/resolved(_:generation:_:at:)``, exactly once.
        case resolve(ID, generation: UInt32)
        /// Look up the default path, and report it with ``MonitorState/Names/sawPath(_:)``.
        case lookAtPath
    }

    /// What to evaluate at the end of the burst of events.
    struct Pending: Sendable {
        var isAll = false
        var prefixes = SmallSet<IPPrefix>()
        var ids: Set<ID> = []
        /// The times of the first and the last event; `nil` if there were none.
        var burst: (first: MonitorInstant, last: MonitorInstant)?
    }

    /// How many prefixes are stored before they are looked up.
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
    /// What they remember.
    var memories: [ID: Box<EvidenceMemory>] = [:]
    /// When to use a changed configuration of the resolver; `nil` if it has not changed.
    var resolverChangeDue: MonitorInstant?
    /// When observations expire.
    var deadlines = Timetable()
    /// The observations to evaluate now, the last one first.
    var pass: [ID] = []
    /// Why the observations of ``pass`` and of ``chunk`` are evaluated, for a trace.
    var causes: NetworkTrace.Causes = []
    /// Whether everything that had these causes is evaluated.
    var areCausesUsed = false
    /// Those that ``advance(to:)`` returned last: their memory is used again.
    var chunk: [ID] = []
    var pending = Pending()
    /// Whether everything has to be evaluated periodically, because not every change is notified.
    var isPolling = false

    /// When a burst was last evaluated.
    var lastEvaluation: MonitorInstant?
    var secondLookDue: MonitorInstant?
    var routeRemovals = PendingRouteRemovals()
    var routineDue: MonitorInstant?
    var overrun = Overrun()
    var failures = Failures()
    /// When expired routes were last looked for.
    var lastExpiryScan: MonitorInstant?
    var polls: UInt64 = 0
}

// MARK: - Observations

extension MonitorState {
    /// Adds an observation, to be evaluated at once.
    ///
    /// - Parameters:
    ///   - id: Its number.
    ///   - isName: Whether it has a name, which is resolved first.
    ///   - inputs: What it depends on besides routes and interfaces.
    ///   - deadline: When it expires; `nil` for never.
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

    /// Removes an observation; later reports about it are ignored.
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
        noteRemoval(of: addresses.count)
        if records.isEmpty {
            pass = []
            pending = Pending()
            routeRemovals = PendingRouteRemovals()
            (secondLookDue, routineDue, resolverChangeDue) = (nil, nil, nil)
        }
    }

    /// Takes the result of an evaluation.
    ///
    /// - Parameters:
    ///   - id: The observation.
    ///   - dependencies: What the answer depends on; `nil` if the evaluation failed.
    ///   - now: The present.
    mutating func evaluated(_ id: ID, _ dependencies: consuming RouteDependencies?, at now: MonitorInstant) {
        guard let known = records[id] else { return }
        guard let dependencies = consume dependencies else { return failures.note(id, at: now) }
        failures.forget(id)
        if let memory = dependencies.memory { memories[id] = memory }
        expiries.set(id, to: dependencies.lifetime.flatMap { Self.expiry(ticks: $0, from: now) })
        reindex(id, from: known, to: dependencies.addresses)
    }

    /// What an observation of evidence remembers; `nil` before its first evaluation, and for others.
    func memory(of id: ID) -> Box<EvidenceMemory>? {
        guard !memories.isEmpty, let memory = memories[id] else { return nil }
        // The network has changed, or can have.
        guard causes == .expiry else { return Box(memory.value.withoutRoutes) }
        return memory
    }

    /// When the observations of evidence were last evaluated, the earliest first; `nil` before that.
    var lastAnswerReading: MonitorInstant? {
        memories.values.map(\.value.time).min().map(MonitorInstant.init(milliseconds:))
    }

    /// Takes that a connection was closed, which can be an answer.
    mutating func noteClosings(at now: MonitorInstant) {
        for (id, memory) in memories {
            expiries.advance(id, to: max(now, MonitorInstant(milliseconds: memory.value.nextReading)))
        }
    }

    /// Postpones everything that was to be evaluated now, because the source does not answer in time.
    mutating func stall(_ rest: some Sequence<ID>, at now: MonitorInstant) {
        for id in rest where records[id] != nil { failures.note(id, at: now) }
        for id in pass where records[id] != nil { failures.note(id, at: now) }
        pass = []
    }

    private static func expiry(ticks: Int32, from now: MonitorInstant) -> MonitorInstant? {
        // A lifetime that is over already has no further effect.
        ticks > 0 ? now + (MonitorTiming.tick * Int(ticks) + MonitorTiming.expiryGrace) : nil
    }

    private mutating func reindex(_ id: ID, from old: SmallSet<IPAddress>, to new: SmallSet<IPAddress>) {
        new.each { if !old.contains($0) { index.insert($0, of: id) } }
        records[id] = new
        var unwanted = 0
        old.each { if !new.contains($0) { unwanted += 1 } }
        noteRemoval(of: unwanted)
    }

    private mutating func noteRemoval(of number: Int) {
        guard number > 0 else { return }
        index.noteRemoval(of: number) { [records] id, address in
            records[id]?.contains(address) ?? false
        }
    }
}

// What is due when.
extension MonitorState {
    /// How often everything is evaluated without a cause.
    var routinePeriod: Duration {
        isPolling ? MonitorTiming.polling : MonitorTiming.safety
    }

    /// When to call ``advance(to:)`` next if nothing happens before; `nil` for never.
    ///
    /// An instant in the past if there is work now.
    var deadline: MonitorInstant? {
        if !pass.isEmpty || names.hasWork { return .distantPast }
        // One by one: a list of them would take memory for each event.
        var earliest: MonitorInstant?
        func note(_ instant: MonitorInstant?) {
            if let instant { earliest = min(earliest ?? instant, instant) }
        }
        note(burstDue)
        note(secondLookDue)
        note(routeRemovals.due)
        note(routineDue)
        note(expiryDue)
        note(failures.due)
        note(names.due)
        note(resolverChangeDue)
        note(deadlines.earliest)
        return earliest
    }

    /// Returns what to do now.
    ///
    /// Call this again until it returns nothing, and read notifications in between.
    mutating func advance(to now: MonitorInstant) -> Actions {
        // Also those of events, which are not evaluated.
        let expired = deadlines.take(at: now).sorted().map(Action.expire)
        guard !records.isEmpty else { return Actions(others: expired, evaluations: []) }
        takeDue(now)
        let others = expired + names.actions(at: now)
        takeChunk()
        return Actions(others: others, evaluations: chunk)
    }

    /// When to evaluate the events so far.
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

    private mutating func takeDue(_ now: MonitorInstant) {
        let failed = failures.take(at: now)
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
            pass.append(contentsOf: expiries.take(at: now))
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
        if let prefixes = routeRemovals.take(at: now) {
            evaluate(Pending(prefixes: prefixes))
            note(.secondLook)
        }
    }

    /// Notes why observations are evaluated, apart from what was evaluated before.
    mutating func note(_ cause: NetworkTrace.Causes) {
        if areCausesUsed { causes = [] }
        areCausesUsed = false
        causes.insert(cause)
    }

    private mutating func evaluateBurst(_ now: MonitorInstant) {
        // What is evaluated while notifications are still being lost has to be evaluated once more.
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
            names.notePossibleChange()
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
        // Also checks observations that are already due, unless there are many: a removed route is often checked again
        // during the next burst.
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

    /// Evaluates everything, which includes all that was pending.
    mutating func evaluateAll(at now: MonitorInstant) {
        pass = records.ids
        routineDue = now + routinePeriod
        lastEvaluation = now
        pending = Pending()
        names.notePossibleChange()
    }

    /// Moves the next observations to evaluate to ``chunk``.
    private mutating func takeChunk() {
        if !chunk.isEmpty { chunk.removeAll(keepingCapacity: true) }
        while chunk.count < NetworkFacts.batchLimit, let id = pass.popLast() {
            guard records[id] != nil, !names.isUnresolved(id) else { continue }
            chunk.append(id)
        }
        areCausesUsed = pass.isEmpty
        // What a burst of all observations needed is not kept.
        if pass.isEmpty, pass.capacity > 4 * Self.prefixLimit { pass = [] }
    }
}

/// What an answer can depend on besides routes and interfaces.
struct QueryInputs: OptionSet, Sendable {
    let rawValue: UInt8

    /// Which name servers are configured.
    static let nameservers = QueryInputs(rawValue: 1)
    /// The hardware addresses of neighbours, as ``Known/note(address:)`` has them.
    static let neighbours = QueryInputs(rawValue: 2)
    /// Answers to this host's TCP connections.
    static let answers = QueryInputs(rawValue: 4)
}

/// Routes whose removal the kernel has notified, and may not have finished.
///
/// The kernel notifies the removal of an IPv4 route before it removes it. A query on another processor can still
/// get the old answer, and no further notification comes.
struct PendingRouteRemovals: Sendable {
    private var prefixes = SmallSet<IPPrefix>()
    /// The prefixes that were added while the others were waited for.
    private var later = SmallSet<IPPrefix>()
    /// When to evaluate them again; `nil` if there are none.
    private(set) var due: MonitorInstant?

    /// The number of prefixes.
    var count: Int { prefixes.count + later.count }

    /// Adds a prefix, to be evaluated again after the kernel has removed its route.
    mutating func note(_ prefix: IPPrefix, at now: MonitorInstant) {
        if due == nil {
            due = now + MonitorTiming.secondLook
            prefixes.insert(prefix)
        } else {
            later.insert(prefix)
        }
    }

    /// Removes and returns what is due.
    mutating func take(at now: MonitorInstant) -> SmallSet<IPPrefix>? {
        guard let due, due <= now else { return nil }
        defer {
            (prefixes, later) = (later, SmallSet())
            self.due = prefixes.count == 0 ? nil : now + MonitorTiming.secondLook
        }
        return prefixes
    }
}
