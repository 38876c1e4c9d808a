// SPDX-License-Identifier: Apache-2.0

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
        let first = pass.count <= EvaluationBatch.limit ? 0 : pass.count
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
        while chunk.count < EvaluationBatch.limit, let id = pass.popLast() {
            guard records[id] != nil, !names.isUnresolved(id) else { continue }
            chunk.append(id)
        }
        areCausesUsed = pass.isEmpty
        // What a burst of all observations needed is not kept.
        if pass.isEmpty, pass.capacity > 4 * Self.prefixLimit { pass = [] }
    }
}
