// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import NetlinkRoute
internal import SystemSupport

extension SimulatedNetwork {
    /// Who learns of a change.
    private enum Audience {
        case everybody
        case nobody
        /// Its notifications are lost, and that is told.
        case overrun
    }

    /// Changes the network, all at one instant.
    ///
    /// ```swift
    /// try network.change { host in
    ///     try host.removeRoute("default")
    ///     try host.addRoute("default", through: "wwan0")
    /// }
    /// ```
    ///
    /// No question sees a part of it. What the kernel reports of such changes is reported, in its order; the
    /// rest is silent. A change that throws leaves the network as it was.
    ///
    /// - Parameter body: Changes the host. It must not change the network in another way.
    /// - Throws: What the body throws.
    public func change<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(.everybody, body)
    }

    /// Changes the network without a word: only the monitor's look every 60 s finds it out.
    ///
    /// ```swift
    /// try network.changeSilently { try $0.removeRoute("default") }
    /// try await network.advance(by: .seconds(60))
    /// ```
    ///
    /// - Parameter body: Changes the host.
    /// - Throws: What the body throws.
    public func changeSilently<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(.nobody, body)
    }

    /// Changes the network while notifications are lost: the kernel's queue is full.
    ///
    /// ```swift
    /// try network.changeLosingNotifications { try $0.removeRoute("default") }
    /// try await network.advance(by: .milliseconds(50))
    /// ```
    ///
    /// - Parameter body: Changes the host.
    /// - Throws: What the body throws.
    public func changeLosingNotifications<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(.overrun, body)
    }

    /// Loses the notifications that nobody has read yet, as a full queue of the kernel does.
    ///
    /// ```swift
    /// network.loseNotifications()
    /// ```
    public func loseNotifications() {
        simulation.feeds.overrun()
    }

    /// Breaks the socket that notifications come from, for good: a monitor that runs looks every 5 s from now on.
    ///
    /// ```swift
    /// network.breakNotifications()
    /// ```
    public func breakNotifications() {
        simulation.feeds.breakDown()
    }

    /// Says that the resolver's configuration has changed, as a new /etc/resolv.conf does: monitored names are
    /// resolved again 100 ms later.
    ///
    /// ```swift
    /// try network.change { try $0.resolve("example.com", to: "198.51.100.8") }
    /// network.notifyResolverChange()
    /// try await network.advance(by: .milliseconds(100))
    /// ```
    public func notifyResolverChange() {
        source.monitor.noteResolverChange()
    }

    /// Lets the machine sleep: this network's clock stands meanwhile, and the monitor finds out how long that was.
    ///
    /// ```swift
    /// network.sleepMachine(for: .seconds(3_600))
    /// try await network.settle()
    /// ```
    ///
    /// - Parameter duration: How long; less than a second is not noticed.
    public func sleepMachine(for duration: Duration) {
        clock.sleepMachine(for: duration)
    }

    private func change<Failure: Error>(
        _ audience: Audience,
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        let me = pthread_self()
        precondition(
            editing.withLock { $0 } != me,
            "the network is being changed on this thread already: change the host that the closure is given"
        )
        try turn.withLock { _ throws(Failure) in
            editing.withLock { $0 = me }
            defer { editing.withLock { $0 = 0 } }
            var host = host
            host.moveOn(to: clock.now)
            try body(&host)
            commit(host, audience)
        }
        setTimers()
        simulation.resolver.answersChanged()
    }

    private func commit(_ host: SimulatedHost, _ audience: Audience) {
        state.withLock { state in
            state.host = host
            state.host.notifications = []
            switch audience {
            case .everybody: simulation.feeds.notify(host.notifications)
            case .nobody: break
            case .overrun: simulation.feeds.overrun()
            }
        }
    }

    /// Has routes with a lifetime end in time.
    private func setTimers() {
        let due = state.withLock { state in
            let due = Set(state.host.expiries.map(\.due)).subtracting(state.timedExpiries)
            state.timedExpiries.formUnion(due)
            return due
        }
        for instant in due {
            clock.schedule(at: instant) { [weak self] in self?.change { $0.expireRoutes() } }
        }
    }
}
