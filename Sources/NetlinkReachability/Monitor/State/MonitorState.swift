// SPDX-License-Identifier: Apache-2.0

/// What the monitor knows and has to do next: a pure state machine, without a clock and without I/O.
///
/// The caller feeds timestamped events, performs the actions that ``advance(to:)`` returns, and reports their results.
/// The state machine knows observations by their numbers only.
struct MonitorState: Sendable {
    /// The number of an observation, from 1; not used again.
    ///
    /// The lower half is an index, which is used again: see ``ObservationTable``.
    typealias ID = UInt64

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
        expiries.set(id, to: dependencies.lifetime.flatMap { Self.expiry(ticks: $0, from: now) })
        reindex(id, from: known, to: dependencies.addresses)
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
