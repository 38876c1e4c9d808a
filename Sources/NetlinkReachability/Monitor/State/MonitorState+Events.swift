// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// What happened, and which observations it affects.
extension MonitorState {
    /// Lost notifications.
    struct Overrun: Sendable {
        /// Whether more notifications can be lost unnoticed, because the queue has not been empty since the last
        /// loss.
        var isCongested = false
        /// When everything can be evaluated again; `nil` after that evaluation.
        var due: MonitorInstant?
        /// How long to wait before the next evaluation after a loss.
        var pause = MonitorTiming.overrunPause
        /// When notifications were last lost.
        var last: MonitorInstant?
        /// Whether notifications were lost since the last evaluation.
        var isCause = false
    }

    /// Failed evaluations.
    struct Failures: Sendable {
        var ids: Set<ID> = []
        var due: MonitorInstant?
        var pause = MonitorTiming.failurePause
    }

    /// Records a notification.
    ///
    /// - Returns: Whether the notification can concern an observation.
    @discardableResult
    mutating func note(_ notification: KernelNotification, at now: MonitorInstant) -> Bool {
        guard !records.isEmpty else { return false }
        switch notification {
        case .route(let prefix), .routeRemoval(let prefix):
            // Ignore routes that no observation depends on; they must not extend the burst.
            guard pending.isAll || index.hasAny(in: prefix) else { return false }
            addPending(prefix)
            if case .routeRemoval = notification { addRemoval(of: prefix, at: now) }
        case .neighbour(let address):
            guard addPendingReaders(of: address) else { return false }
        case .link(isLoss: true), .address(isLoss: true), .nexthop(isLoss: true):
            secondLookDue = now + MonitorTiming.secondLook
            addPendingAll()
        case .link, .address, .nexthop, .rule, .settings:
            addPendingAll()
        }
        extendBurst(now)
        return true
    }

    /// Records that notifications were lost.
    ///
    /// Everything is evaluated again when the queue is empty. If losses are frequent, the pauses between these
    /// evaluations grow.
    mutating func overran(at now: MonitorInstant) {
        overrun.isCongested = true
        overrun.isCause = true
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

    /// Records that the queue of notifications is empty.
    mutating func drained() {
        overrun.isCongested = false
    }

    /// Records that the machine has slept: everything is evaluated again.
    mutating func slept(at now: MonitorInstant) {
        evaluateAll(at: now)
        note(.sleep)
        names.refreshAll()
    }

    /// Records that no more notifications will arrive, or that they arrive again.
    mutating func setPolling(_ isNeeded: Bool, at now: MonitorInstant) {
        isPolling = isNeeded
        if !records.isEmpty { routineDue = now + routinePeriod }
    }

    /// Records a change of the resolver's configuration.
    ///
    /// The change is used after a delay, because programs write these files in several steps.
    mutating func resolverChanged(at now: MonitorInstant) {
        guard !(names.isEmpty && nameserverReaders.isEmpty), resolverChangeDue == nil else { return }
        resolverChangeDue = now + MonitorTiming.resolverSettling
    }

    private mutating func addPendingAll() {
        pending.isAll = true
        pending.prefixes = SmallSet()
        pending.ids = []
    }

    private mutating func addPending(_ prefix: IPPrefix) {
        guard !pending.isAll else { return }
        pending.prefixes.insert(prefix)
        guard pending.prefixes.count > Self.prefixLimit else { return }
        let prefixes = pending.prefixes
        prefixes.each { prefix in
            index.forEach(in: prefix) { pending.ids.insert($0) }
        }
        pending.prefixes = SmallSet()
        if pending.ids.count > records.count / 2 { addPendingAll() }
    }

    /// Adds the observations that depend on the hardware address of a neighbour.
    ///
    /// - Returns: Whether there is such an observation.
    private mutating func addPendingReaders(of address: IPAddress) -> Bool {
        guard !neighbourReaders.isEmpty,
            let prefix = IPPrefix(address, length: address.family.bitWidth)
        else { return false }
        var found: Set<ID> = []
        index.forEach(in: prefix) { if neighbourReaders.contains($0) { found.insert($0) } }
        if !pending.isAll { pending.ids.formUnion(found) }
        return !found.isEmpty
    }

    private mutating func addRemoval(of prefix: IPPrefix, at now: MonitorInstant) {
        routeRemovals.insert(prefix, at: now)
        guard routeRemovals.count > Self.prefixLimit else { return }
        routeRemovals = PendingRouteRemovals()
        secondLookDue = now + MonitorTiming.secondLook
    }

    private mutating func extendBurst(_ now: MonitorInstant) {
        pending.burst = (pending.burst?.first ?? now, now)
    }
}

extension MonitorState.Failures {
    mutating func insert(_ id: MonitorState.ID, at now: MonitorInstant) {
        ids.insert(id)
        guard due == nil else { return }
        due = now + pause
        pause = min(pause * 2, MonitorTiming.failurePauseLimit)
    }

    /// Records that an observation's evaluation succeeded again.
    mutating func forget(_ id: MonitorState.ID) {
        guard !ids.isEmpty || due != nil || pause != MonitorTiming.failurePause else { return }
        ids.remove(id)
        guard ids.isEmpty else { return }
        due = nil
        pause = MonitorTiming.failurePause
    }

    /// Removes and returns the observations to evaluate again now.
    mutating func popDue(at now: MonitorInstant) -> Set<MonitorState.ID> {
        guard let due, due <= now else { return [] }
        self.due = nil
        defer { ids = [] }
        return ids
    }
}
