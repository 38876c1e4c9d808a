// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel
internal import SystemSupport

extension SimulatedNetwork {
    /// Changes the network at one instant.
    ///
    /// ```swift
    /// try network.change { host in
    ///     try host.removeRoute(.default(via: "192.0.2.1"))
    ///     try host.addRoute(SimulatedRoute(to: .allV4, through: "wwan0"))
    /// }
    /// ```
    ///
    /// Queries see the whole change or none of it. The monitors get the kernel's notifications, in the kernel's
    /// order. A change that throws leaves the network unchanged.
    ///
    /// - Parameter body: Changes the host; it must not call methods that change the network.
    /// - Throws: The error of the body.
    public func change<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(body) { feeds.notify($0) }
    }

    /// Changes the network without notifications: a monitor finds the change when it asks again after 60 s.
    ///
    /// ```swift
    /// try network.changeSilently { try $0.removeRoute(.default(via: "192.0.2.1")) }
    /// try await network.advance(by: .seconds(60))
    /// ```
    ///
    /// - Parameter body: Changes the host.
    /// - Throws: The error of the body.
    public func changeSilently<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(body) { _ in }
    }

    /// Changes the network while notifications are lost, as when the kernel's queue is full.
    ///
    /// ```swift
    /// try network.changeLosingNotifications { try $0.removeRoute(.default(via: "192.0.2.1")) }
    /// try await network.advance(by: .milliseconds(50))
    /// ```
    ///
    /// - Parameter body: Changes the host.
    /// - Throws: The error of the body.
    public func changeLosingNotifications<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(body) { _ in feeds.overrun() }
    }

    /// Drops the notifications that the monitors have not read, as a full queue of the kernel does.
    ///
    /// ```swift
    /// network.loseNotifications()
    /// ```
    public func loseNotifications() {
        feeds.overrun()
    }

    /// Breaks the notification socket of the running monitors permanently: they poll every 5 s.
    ///
    /// ```swift
    /// network.breakNotifications()
    /// ```
    public func breakNotifications() {
        feeds.breakDown()
    }

    /// Notifies the monitor of a change of the resolver's configuration, such as a new /etc/resolv.conf: the monitor
    /// resolves its names again 100 ms later.
    ///
    /// ```swift
    /// network.change { $0.names["example.com"] = .addresses("198.51.100.8") }
    /// network.notifyResolverChange()
    /// try await network.advance(by: .milliseconds(100))
    /// ```
    public func notifyResolverChange() {
        source.monitor.resolverChanged()
    }

    /// Suspends the machine: the clock does not move, and the monitor detects the suspension.
    ///
    /// ```swift
    /// network.sleepMachine(for: .seconds(3_600))
    /// try await network.settle()
    /// ```
    ///
    /// - Parameter duration: The length of the suspension; the monitor ignores lengths below a second.
    public func sleepMachine(for duration: Duration) {
        clock.sleepMachine(for: duration)
    }

    private func change<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void,
        deliver: ([KernelNotification]) -> Void
    ) throws(Failure) {
        let me = pthread_self()
        precondition(
            editing.withLock { $0 } != me,
            "this thread is already changing the network: change the host that the closure receives"
        )
        try turn.withLock { _ throws(Failure) in
            editing.withLock { $0 = me }
            defer { editing.withLock { $0 = 0 } }
            var host = host
            host.moveOn(to: clock.now)
            try body(&host)
            state.withLock { state in
                deliver(host.state.notifications)
                host.state.notifications = []
                state.host = host
            }
        }
        setTimers()
        resolver.answersChanged()
    }

    /// Schedules the expiry of routes with a lifetime.
    private func setTimers() {
        let due = state.withLock { state in
            let due = Set(state.host.expiries.map(\.due)).subtracting(state.timedExpiries)
            state.timedExpiries.formUnion(due)
            return due
        }
        for instant in due {
            clock.schedule(at: instant) { [weak self] _ in self?.change { $0.expireRoutes() } }
        }
    }
}
