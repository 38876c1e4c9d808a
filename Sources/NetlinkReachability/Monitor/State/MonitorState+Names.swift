// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension MonitorState {
    /// The observations of names, and the state of their resolution.
    struct Names: Sendable {
        private struct Entry: Sendable {
            /// The last result.
            ///
            /// It stays in use until there is a new one.
            var resolution: ReachabilityTarget.Resolution?
            /// Why the resolver could not run at the last attempt; `nil` if it could.
            var error: ReachabilityError?
            /// Whether ``error`` was reported.
            var isReported = false
            /// Incremented when the result of a resolution in flight is no longer wanted.
            var generation: UInt32 = 0
            var isQueued = false
            var failures = 0
        }

        /// A resolution in flight.
        private struct Flight: Hashable {
            var id: ID
            var generation: UInt32
        }

        /// The most names that are resolved at the same time.
        static let limit = 16

        private var entries: [ID: Entry] = [:]
        private var queue: [ID] = []
        private var flights: Set<Flight> = []
        /// When to try again to resolve names that failed temporarily.
        private var retries = Timetable()
        private var path: [RouteAnswer?]?
        private var wantsPath = false
        /// How many resolutions failed temporarily or timed out.
        private(set) var failedCount: UInt64 = 0
        /// How many results arrived after they were no longer wanted.
        private(set) var lateCount: UInt64 = 0
    }

    /// Records the result of a resolution.
    mutating func resolved(
        _ id: ID,
        generation: UInt32,
        _ result: ResolvedName,
        at now: MonitorInstant
    ) {
        guard names.finish(id, generation, result, now) else { return }
        pass.append(id)
        note(.resolution)
    }
}

extension MonitorState.Names {
    var isEmpty: Bool { entries.isEmpty }

    /// The instant of the next retry; `nil` if no resolution is to be retried.
    var due: MonitorInstant? {
        retries.earliest
    }

    /// Whether there is work now.
    var hasWork: Bool {
        wantsPath || (!queue.isEmpty && flights.count < Self.limit)
    }

    /// The last result for an observation's name; `nil` without a result or a name.
    func resolution(of id: MonitorState.ID) -> ReachabilityTarget.Resolution? {
        entries.isEmpty ? nil : entries[id]?.resolution
    }

    /// Why the resolver could not run for an observation's name; `nil` if it could.
    func error(of id: MonitorState.ID) -> ReachabilityError? {
        entries.isEmpty ? nil : entries[id]?.error
    }

    /// Returns whether an error has to be reported: once for each different error.
    mutating func markReported(_ id: MonitorState.ID) -> Bool {
        guard let entry = entries[id], !entry.isReported else { return false }
        entries[id]?.isReported = true
        return true
    }

    /// Whether the name of an observation has no result yet.
    func isUnresolved(_ id: MonitorState.ID) -> Bool {
        !entries.isEmpty && entries[id].map { $0.resolution == nil && $0.error == nil } ?? false
    }

    mutating func insert(_ id: MonitorState.ID) {
        if entries.isEmpty { wantsPath = true }
        entries[id] = Entry()
        enqueue(id)
    }

    mutating func remove(_ id: MonitorState.ID) {
        guard entries.removeValue(forKey: id) != nil else { return }
        retries.set(id, to: nil)
        if entries.isEmpty {
            (queue, flights) = ([], [])
            (path, wantsPath) = (nil, false)
        }
    }

    /// Records a change of the network: perhaps of the default path, or of what made a resolution fail.
    mutating func retryAll() {
        guard !entries.isEmpty else { return }
        wantsPath = true
        for id in retries.popDue(at: .distantFuture) { enqueue(id) }
    }

    /// Records the routes of the default path, one for each family.
    ///
    /// Names can have other addresses on another path.
    ///
    /// A route is `nil` if its query failed.
    mutating func sawPath(_ routes: [RouteAnswer?]) {
        guard !entries.isEmpty else { return }
        if let path, path != routes { refreshAll() }
        path = routes
    }

    /// Resolves every name again.
    ///
    /// Results in flight are no longer wanted.
    mutating func refreshAll() {
        for id in entries.keys {
            entries[id]?.generation += 1
            enqueue(id)
        }
        retries = Timetable()
    }

    mutating func actions(at now: MonitorInstant) -> [MonitorState.Action] {
        guard !entries.isEmpty else { return [] }
        for id in retries.popDue(at: now) { enqueue(id) }
        var actions: [MonitorState.Action] = []
        if wantsPath {
            wantsPath = false
            actions.append(.lookAtPath)
        }
        var taken = 0
        while flights.count < Self.limit, taken < queue.count {
            let id = queue[taken]
            taken += 1
            guard let entry = entries[id] else { continue }
            entries[id]?.isQueued = false
            flights.insert(Flight(id: id, generation: entry.generation))
            actions.append(.resolve(id, generation: entry.generation))
        }
        queue.removeFirst(taken)
        return actions
    }

    /// Records the result of a resolution.
    ///
    /// - Returns: Whether to evaluate the observation.
    mutating func finish(
        _ id: MonitorState.ID,
        _ generation: UInt32,
        _ result: ResolvedName,
        _ now: MonitorInstant
    ) -> Bool {
        let hasEnded = flights.remove(Flight(id: id, generation: generation)) != nil
        guard hasEnded, var entry = entries[id], entry.generation == generation else {
            lateCount += 1
            return false
        }
        defer { entries[id] = entry }
        let (known, error) = (entry.resolution, entry.error)
        entry.error = nil
        switch result {
        case .success(.addresses), .success(.notFound):
            entry.failures = 0
            entry.resolution = try? result.get()
            return true
        case .success(let resolution):
            // The previous addresses stay in use.
            entry.resolution = known ?? resolution
        case .failure(let newError):
            entry.error = newError
            if newError != error { entry.isReported = false }
        }
        failedCount += 1
        retries.set(id, to: now + Self.pause(after: entry.failures))
        entry.failures += 1
        return entry.resolution != known || entry.error != error
    }

    private static func pause(after failures: Int) -> Duration {
        min(MonitorTiming.resolutionPause * (1 << min(failures, 16)), MonitorTiming.resolutionPauseLimit)
    }

    private mutating func enqueue(_ id: MonitorState.ID) {
        guard entries[id]?.isQueued == false else { return }
        entries[id]?.isQueued = true
        queue.append(id)
    }
}
