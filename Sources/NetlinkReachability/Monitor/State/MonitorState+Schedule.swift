// SPDX-License-Identifier: Apache-2.0

// What is to be done when.
extension MonitorState {
    /// How often everything is asked again without a reason.
    var routinePeriod: Duration {
        isPolling ? MonitorTiming.polling : MonitorTiming.safety
    }

    /// When to come back if nothing happens before; `nil` for not at all.
    ///
    /// An instant that is over when there is something to do now.
    var deadline: MonitorInstant? {
        if !pass.isEmpty || names.hasWork { return MonitorInstant(nanoseconds: .min) }
        return [
            burstDue, secondLookDue, goingRoutes.due, routineDue, expiryDue, failures.due, names.due,
            paths.due,
        ]
        .compactMap(\.self).min()
    }

    /// Tells what is to be done now.
    ///
    /// Call again until nothing is, with a look at the announcements in between.
    mutating func advance(to now: MonitorInstant) -> [Action] {
        takeDue(now)
        var actions = names.actions(at: now)
        let ids = nextChunk()
        if !ids.isEmpty { actions.append(.ask(ids)) }
        return actions
    }

    /// When the events so far are to be answered.
    var burstDue: MonitorInstant? {
        guard let burst = pending.burst else { return nil }
        var due = burst.first
        if let lastAnswer, burst.first < lastAnswer + MonitorTiming.leading {
            due = max(burst.last + MonitorTiming.trailing, lastAnswer + MonitorTiming.leading)
            due = min(due, burst.first + MonitorTiming.burstLimit)
        }
        if let pause = overrun.due { due = max(due, pause) }
        if overrun.isCongested, let last = overrun.last {
            due = max(due, last + MonitorTiming.overrunPauseLimit)
        }
        return due
    }

    private var expiryDue: MonitorInstant? {
        guard let earliestExpiry else { return nil }
        return max(earliestExpiry, lastExpiryScan.map { $0 + MonitorTiming.expirySpacing } ?? earliestExpiry)
    }

    private mutating func takeDue(_ now: MonitorInstant) {
        guard !records.isEmpty else { return }
        pass.append(contentsOf: failures.take(at: now))
        pass.append(contentsOf: paths.take(at: now))
        if let due = expiryDue, due <= now { takeExpired(now) }
        if let due = routineDue, due <= now {
            if isPolling { polls += 1 }
            askAll(at: now)
        }
        if let due = secondLookDue, due <= now {
            secondLookDue = nil
            askAll(at: now)
        }
        if let due = burstDue, due <= now { answerBurst(now) }
        if let prefixes = goingRoutes.take(at: now) { askAbout(Pending(prefixes: prefixes)) }
    }

    private mutating func answerBurst(_ now: MonitorInstant) {
        // What is asked while announcements are still being lost has to be asked once more.
        let isCongested = overrun.isCongested
        let pending = pending
        lastAnswer = now
        if let burst = pending.burst, burst.last + MonitorTiming.secondLook <= now {
            // Whatever was going is gone by now.
            goingRoutes = PendingRouteRemovals()
        }
        if pending.isAll {
            askAll(at: now)
        } else {
            self.pending = Pending()
            askAbout(pending)
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

    private mutating func askAbout(_ pending: Pending) {
        let before = pass.count
        pass.append(contentsOf: pending.targets)
        pending.prefixes.each { prefix in
            index.forEach(in: prefix) { pass.append($0) }
        }
        // A target with several addresses, or in a prefix within another, is named more than once.
        guard pass.count - before > 1 else { return }
        let targets = Set(pass[before...])
        guard targets.count < pass.count - before else { return }
        pass.removeSubrange(before...)
        pass.append(contentsOf: targets)
    }

    /// Asks about all; whatever else was to be asked is part of that.
    mutating func askAll(at now: MonitorInstant) {
        pass = Array(records.keys)
        routineDue = now + routinePeriod
        lastAnswer = now
        pending = Pending()
        names.notePossibleChange()
    }

    private mutating func takeExpired(_ now: MonitorInstant) {
        lastExpiryScan = now
        earliestExpiry = nil
        for (id, record) in records {
            guard let expiry = record.expiry else { continue }
            if expiry <= now {
                pass.append(id)
            } else {
                earliestExpiry = min(earliestExpiry ?? expiry, expiry)
            }
        }
    }

    private mutating func nextChunk() -> [ID] {
        var ids: [ID] = []
        while ids.count < Self.chunk, let id = pass.popLast() {
            guard records[id] != nil, !names.isUnresolved(id) else { continue }
            ids.append(id)
        }
        return ids
    }
}
