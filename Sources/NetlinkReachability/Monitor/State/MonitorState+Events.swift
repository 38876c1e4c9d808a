// SPDX-License-Identifier: Apache-2.0

// What happened, and what it touches.
extension MonitorState {
    /// Announcements that were lost.
    struct Overrun: Sendable {
        /// Whether more can be lost unnoticed, because the queue has not run empty since.
        var isCongested = false
        /// When everything may be asked again; `nil` when that is done.
        var due: MonitorInstant?
        /// The next pause.
        var pause = MonitorTiming.overrunPause
        /// When announcements were last lost.
        var last: MonitorInstant?
    }

    /// Questions that failed.
    struct Failures: Sendable {
        var targets: Set<ID> = []
        var due: MonitorInstant?
        var pause = MonitorTiming.failurePause
    }

    /// Takes an announcement in.
    mutating func note(_ change: KernelNotification, at now: MonitorInstant) {
        guard !records.isEmpty else { return }
        switch change {
        case .route(let prefix):
            // Whatever nobody asks about is no news, and keeps no other news waiting.
            guard pending.isAll || index.hasAny(in: prefix) else { return }
            addPending(prefix)
        case .routeRemoval(let prefix):
            guard pending.isAll || index.hasAny(in: prefix) else { return }
            addPending(prefix)
            noteGoing(prefix, at: now)
        case .link(isLoss: true), .address(isLoss: true), .nexthop(isLoss: true):
            secondLookDue = now + MonitorTiming.secondLook
            addPendingAll()
        case .link, .address, .nexthop, .rule, .settings:
            addPendingAll()
        }
        extendBurst(now)
    }

    /// Announcements were lost: all is to be asked again, but not before the queue is empty, and the less
    /// often the more often it happens.
    mutating func noteOverrun(at now: MonitorInstant) {
        overrun.isCongested = true
        if let last = overrun.last, now - last > MonitorTiming.overrunMemory {
            overrun.pause = MonitorTiming.overrunPause
        }
        overrun.last = now
        guard !records.isEmpty else { return }
        if overrun.due == nil {
            overrun.due = now + overrun.pause
            overrun.pause = min(overrun.pause * 2, MonitorTiming.overrunPauseLimit)
        }
        addPendingAll()
        extendBurst(now)
    }

    /// The queue of announcements is empty.
    mutating func noteDrained() {
        overrun.isCongested = false
    }

    /// The machine has slept, or for another reason nothing that was known counts any more.
    mutating func noteSleep(at now: MonitorInstant) {
        askAll(at: now)
        names.refreshAll()
    }

    /// Announcements will not come any more.
    mutating func notePollingNeeded(at now: MonitorInstant) {
        isPolling = true
        if !records.isEmpty { routineDue = now + routinePeriod }
    }

    private mutating func addPendingAll() {
        pending.isAll = true
        pending.prefixes = SmallPrefixSet()
        pending.targets = []
    }

    private mutating func addPending(_ prefix: IPPrefix) {
        guard !pending.isAll else { return }
        pending.prefixes.insert(prefix)
        guard pending.prefixes.count > Self.prefixLimit else { return }
        let prefixes = pending.prefixes
        prefixes.each { prefix in
            index.forEach(in: prefix) { pending.targets.insert($0) }
        }
        pending.prefixes = SmallPrefixSet()
        if pending.targets.count > records.count / 2 { addPendingAll() }
    }

    private mutating func noteGoing(_ prefix: IPPrefix, at now: MonitorInstant) {
        goingRoutes.note(prefix, at: now)
        guard goingRoutes.count > Self.prefixLimit else { return }
        goingRoutes = PendingRouteRemovals()
        secondLookDue = now + MonitorTiming.secondLook
    }

    private mutating func extendBurst(_ now: MonitorInstant) {
        pending.burst = (pending.burst?.first ?? now, now)
    }
}

extension MonitorState.Failures {
    mutating func note(_ id: MonitorState.ID, at now: MonitorInstant) {
        targets.insert(id)
        guard due == nil else { return }
        due = now + pause
        pause = min(pause * 2, MonitorTiming.failurePauseLimit)
    }

    /// A question was answered after all.
    mutating func forget(_ id: MonitorState.ID) {
        guard !targets.isEmpty || due != nil || pause != MonitorTiming.failurePause else { return }
        targets.remove(id)
        guard targets.isEmpty else { return }
        due = nil
        pause = MonitorTiming.failurePause
    }

    /// Hands out what is due.
    mutating func take(at now: MonitorInstant) -> Set<MonitorState.ID> {
        guard let due, due <= now else { return [] }
        self.due = nil
        defer { targets = [] }
        return targets
    }
}
