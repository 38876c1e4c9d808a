// SPDX-License-Identifier: Apache-2.0

/// What decides which way the default path goes.
struct PathSignature: Hashable, Sendable {
    /// The way of IPv4; `nil` where the question failed.
    var v4: RouteSummary?
    /// The way of IPv6.
    var v6: RouteSummary?
}

extension MonitorState {
    /// The targets that are names, and how far each is resolved.
    struct Names: Sendable {
        private struct Entry: Sendable {
            /// What is known; an old answer counts until there is a new one.
            var resolution: HostResolution?
            /// Moves on when an answer that is under way is no longer wanted.
            var generation: UInt32 = 0
            var isQueued = false
            var failures = 0
            var retry: MonitorInstant?
        }

        /// How many names are resolved at the same time.
        static let limit = 16

        private var entries: [ID: Entry] = [:]
        private var queue: [ID] = []
        private var underWay = 0
        /// Those that failed for now.
        private var failed: Set<ID> = []
        private var earliestRetry: MonitorInstant?
        private var refreshDue: MonitorInstant?
        private var path: PathSignature?
        private var wantsPath = false
        /// How many answers came too late to be wanted.
        private(set) var lateAnswers: UInt64 = 0
    }

    /// A file of the resolver's configuration has changed.
    mutating func noteResolverChange(at now: MonitorInstant) {
        names.noteResolverChange(at: now)
        paths.noteResolverChange(at: now)
    }

    /// Takes in which way the default path goes: on another one, names can have other addresses.
    mutating func sawPath(_ signature: PathSignature) {
        names.sawPath(signature)
    }

    /// Takes in what became of a name.
    mutating func resolved(
        _ id: ID,
        generation: UInt32,
        _ resolution: HostResolution,
        at now: MonitorInstant
    ) {
        if names.take(id, generation, resolution, now) { pass.append(id) }
    }
}

extension MonitorState.Names {
    /// When to come back if nothing happens before.
    var due: MonitorInstant? {
        [earliestRetry, refreshDue].compactMap(\.self).min()
    }

    /// Whether there is something to do now.
    var hasWork: Bool {
        wantsPath || (!queue.isEmpty && underWay < Self.limit)
    }

    /// What is known of a target's name; `nil` when that is nothing, or it is none.
    func resolution(of id: MonitorState.ID) -> HostResolution? {
        entries[id]?.resolution
    }

    /// Whether there is nothing yet to ask about.
    func isUnresolved(_ id: MonitorState.ID) -> Bool {
        entries[id].map { $0.resolution == nil } ?? false
    }

    mutating func insert(_ id: MonitorState.ID) {
        if entries.isEmpty { wantsPath = true }
        entries[id] = Entry()
        enqueue(id)
    }

    mutating func remove(_ id: MonitorState.ID) {
        guard entries.removeValue(forKey: id) != nil else { return }
        failed.remove(id)
        if entries.isEmpty {
            queue = []
            (path, wantsPath, refreshDue, earliestRetry) = (nil, false, nil, nil)
        }
    }

    mutating func noteResolverChange(at now: MonitorInstant) {
        guard !entries.isEmpty, refreshDue == nil else { return }
        refreshDue = now + MonitorTiming.resolverSettling
    }

    /// Something in the network has changed: perhaps the default path, and perhaps what a name failed for.
    mutating func notePossibleChange() {
        guard !entries.isEmpty else { return }
        wantsPath = true
        for id in failed { enqueue(id) }
        failed = []
        earliestRetry = nil
    }

    mutating func sawPath(_ signature: PathSignature) {
        guard !entries.isEmpty else { return }
        if let path, path != signature { refreshAll() }
        path = signature
    }

    /// Every name is to be resolved again, and answers under way are not wanted.
    mutating func refreshAll() {
        refreshDue = nil
        for id in entries.keys {
            entries[id]?.generation += 1
            enqueue(id)
        }
        failed = []
        earliestRetry = nil
    }

    mutating func actions(at now: MonitorInstant) -> [MonitorState.Action] {
        if let due = refreshDue, due <= now { refreshAll() }
        if let due = earliestRetry, due <= now { retry(now) }
        var actions: [MonitorState.Action] = []
        if wantsPath {
            wantsPath = false
            actions.append(.lookAtPath)
        }
        var taken = 0
        while underWay < Self.limit, taken < queue.count {
            let id = queue[taken]
            taken += 1
            guard let generation = entries[id]?.generation else { continue }
            entries[id]?.isQueued = false
            underWay += 1
            actions.append(.resolve(id, generation: generation))
        }
        queue.removeFirst(taken)
        return actions
    }

    /// Takes in what became of a name; true when the target is to be asked about.
    mutating func take(
        _ id: MonitorState.ID,
        _ generation: UInt32,
        _ resolution: HostResolution,
        _ now: MonitorInstant
    ) -> Bool {
        underWay -= 1
        guard var entry = entries[id], entry.generation == generation else {
            lateAnswers += 1
            return false
        }
        switch resolution {
        case .addresses, .notFound:
            entry.failures = 0
            entry.retry = nil
            entry.resolution = resolution
        case .failed, .timedOut:
            let retry = now + Self.pause(after: entry.failures)
            entry.failures += 1
            entry.retry = retry
            earliestRetry = min(earliestRetry ?? retry, retry)
            failed.insert(id)
            guard entry.resolution == nil else {
                // What was known before is better than nothing.
                entries[id] = entry
                return false
            }
            entry.resolution = resolution
        }
        entries[id] = entry
        return true
    }

    private static func pause(after failures: Int) -> Duration {
        min(MonitorTiming.resolutionPause * (1 << min(failures, 16)), MonitorTiming.resolutionPauseLimit)
    }

    private mutating func retry(_ now: MonitorInstant) {
        earliestRetry = nil
        for id in failed {
            guard let retry = entries[id]?.retry else { continue }
            if retry <= now {
                enqueue(id)
            } else {
                earliestRetry = min(earliestRetry ?? retry, retry)
            }
        }
        failed = failed.filter { entries[$0]?.isQueued == false }
    }

    private mutating func enqueue(_ id: MonitorState.ID) {
        guard entries[id]?.isQueued == false else { return }
        entries[id]?.isQueued = true
        queue.append(id)
    }
}
