// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel

/// A network that exists only in a test, behind the same engine and rules as the kernel's.
///
/// ```swift
/// let network = SimulatedNetwork(.wifi)
/// let reachability = try NetworkReachability(host: "example.com", source: network.source)
/// try reachability.start { flags in print(flags.letters) }
/// try await network.settle()                                      // prints -R -------
/// try network.change { try $0.setCarrier("wlan0", false) }
/// try await network.settle()                                      // prints -- -------
/// ```
///
/// The test gives ``source`` to the code that it tests, changes the network with ``change(_:)`` or ``apply(_:)``,
/// and waits with ``settle(within:)`` until everybody has been told. Nothing happens by itself: time stands until
/// ``advance(by:within:)`` moves it. `docs/testing.md` has a worked example.
///
/// Questions are answered as the kernel would: policy rules, longest prefix, metrics, state of interfaces. What a
/// real network does besides, such as losing packets, no reachability API can see.
///
/// It can be used from any thread.
public final class SimulatedNetwork: Sendable {
    private struct State {
        var host = SimulatedHost()
        /// The condition that changes by itself: each application has its own number.
        var application = 0
        var failure: SimulationError?
        var timedExpiries: Set<ManualClock.Instant> = []
        /// The recording that is played; `nil` for none.
        var player: RecordingPlayer?
        /// The network at this place of the recording.
        var recorded: RecordedRouting?
    }

    /// The network's time.
    public let clock: ManualClock
    /// What to give to a `NetworkReachability`, or to whatever takes a `NetworkSource`.
    public var source: NetworkSource { simulation.source }

    private let simulation: Simulation
    private let state: Locked<State>
    /// The thread that is in ``change(_:)``; one at a time.
    private let editing = Locked<pthread_t>(0)
    private let turn = Locked(())

    /// Makes a network with nothing but the loopback interface, in which no name is found.
    ///
    /// - Parameter clock: Its time; a clock of its own unless several networks share one.
    public init(clock: ManualClock = ManualClock()) {
        let state = Locked(State())
        self.clock = clock
        self.state = state
        simulation = Simulation(
            clock: clock,
            tables: { () throws(RoutingFault) in
                state.withLock { state in
                    if let recorded = state.recorded { return recorded }
                    state.host.moveOn(to: clock.now)
                    return state.host.routing
                }
            },
            names: { state.withLock { $0.host.names } },
            failures: { state.withLock { $0.host.failures } }
        )
    }

    /// Makes a network in a condition.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - clock: Its time; a clock of its own unless several networks share one.
    public convenience init(_ condition: NetworkCondition, clock: ManualClock = ManualClock()) {
        self.init(clock: clock)
        apply(condition)
    }

    /// The network as it is now, to be looked at.
    public var host: SimulatedHost { state.withLock { $0.host } }

    /// How many handles and loops are being told of changes.
    ///
    /// A test that starts a task with a loop waits for it to listen:
    ///
    /// ```swift
    /// try await network.settle { network.listenerCount == 1 }
    /// ```
    public var listenerCount: Int { source.monitor.userCount }
}

// MARK: - Changes

extension SimulatedNetwork {
    /// Who learns of a change.
    private enum Audience {
        case everybody
        case nobody
        /// Its announcements are lost, and that is told.
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
    /// No question sees a part of it. What the kernel announces of such changes is announced, in its order; the
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
    /// - Parameter body: Changes the host.
    /// - Throws: What the body throws.
    public func changeSilently<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(.nobody, body)
    }

    /// Changes the network while announcements are lost: the kernel's queue is full.
    ///
    /// - Parameter body: Changes the host.
    /// - Throws: What the body throws.
    public func changeLosingAnnouncements<Failure: Error>(
        _ body: (inout SimulatedHost) throws(Failure) -> Void
    ) throws(Failure) {
        try change(.overrun, body)
    }

    /// Loses the announcements that nobody has read yet, as a full queue of the kernel does.
    public func loseAnnouncements() {
        simulation.overrun()
    }

    /// Breaks the socket that announcements come from, for good: a monitor that runs looks every 5 s from now on.
    public func breakAnnouncements() {
        simulation.breakDown()
    }

    /// Says that the resolver's configuration has changed, as a new /etc/resolv.conf does: monitored names are
    /// resolved again 100 ms later.
    public func announceResolverChange() {
        source.monitor.noteResolverChange()
    }

    /// Lets the machine sleep: this network's clock stands meanwhile, and the monitor finds out how long that was.
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
            state.host.announcements = []
            switch audience {
            case .everybody: simulation.announce(host.announcements)
            case .nobody: break
            case .overrun: simulation.overrun()
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

// MARK: - Conditions

extension SimulatedNetwork {
    /// Brings the whole network into a condition, at one instant.
    ///
    /// ```swift
    /// network.apply(.offline)
    /// ```
    ///
    /// Every interface but the loopback goes, and those of the condition come. Names that the test has given
    /// answers keep them. A condition that changes by itself goes on until the next one is applied.
    ///
    /// - Parameter condition: The condition.
    public func apply(_ condition: NetworkCondition) {
        let application = state.withLock { state in
            state.application += 1
            (state.player, state.recorded) = (nil, nil)
            return state.application
        }
        attempt(condition.name) { host in
            host.clear()
            try condition.setUp(&host)
        }
        schedule(condition, step: 0, of: application, after: clock.now)
    }

    private func schedule(
        _ condition: NetworkCondition,
        step: Int,
        of application: Int,
        after instant: ManualClock.Instant
    ) {
        guard let next = condition.step(step) else { return }
        let due = instant.advanced(by: next.delay)
        clock.schedule(at: due) { [weak self] in
            guard let self, self.state.withLock({ $0.application }) == application else { return }
            self.attempt(condition.name, next.change)
            self.schedule(condition, step: step + 1, of: application, after: due)
        }
    }

    /// Does a step of a condition; what it throws comes out of the next wait.
    private func attempt(_ name: String, _ body: (inout SimulatedHost) throws -> Void) {
        do {
            try change(body)
        } catch {
            let failure = SimulationError(
                .failedStep,
                "the condition \(name) does not fit the network: \(error)"
            )
            state.withLock { $0.failure = failure }
        }
    }

    // MARK: Recordings

    /// The recording that is played; `nil` for none.
    var player: RecordingPlayer? { state.withLock { $0.player } }

    /// Plays a recording from now on.
    func begin(_ player: RecordingPlayer) {
        state.withLock { $0.player = player }
    }

    /// Plays a step; false when there was none, or it could not be read.
    @discardableResult
    func playStep(of player: RecordingPlayer) -> Bool {
        do {
            guard let step = try player.play() else { return false }
            state.withLock { state in
                guard state.player === player else { return }
                state.recorded = step.routing
                state.host.show(step.routing.routing)
                if step.isOverrun {
                    simulation.overrun()
                } else {
                    simulation.announce(step.announcements)
                }
            }
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }

    fileprivate func checkSteps() throws(SimulationError) {
        let failure = state.withLock { state in
            defer { state.failure = nil }
            return state.failure
        }
        if let failure { throw failure }
    }
}

// MARK: - Time

extension SimulatedNetwork {
    /// Waits until everybody has been told of all changes so far.
    ///
    /// When this returns, and nobody else has changed anything meanwhile:
    ///
    /// - the monitor has read every announcement and asked everything that is due at this instant of the clock;
    /// - every name that was to be resolved is resolved, but those that hang on purpose;
    /// - every handler of `start(queue:initial:_:)` that was to be called has been called and has returned;
    /// - every loop over `updates` that was waiting and was given new flags has come back for more, or ended.
    ///
    /// It knows nothing of tasks that the code under test has started and that have not begun to listen: wait for
    /// those with ``settle(within:until:)``.
    ///
    /// What the monitor does later, by its own pauses, does not happen before the clock is moved: a second change
    /// within 100 ms of another is told 250 ms later.
    ///
    /// - Parameter limit: A bound in real time, for handlers and loops that never return.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when that is over.
    public func settle(within limit: Duration = .seconds(60)) async throws(SimulationError) {
        try await simulation.settle(within: limit)
        try checkSteps()
    }

    /// Waits until the network has settled and a condition holds.
    ///
    /// ```swift
    /// try await network.settle { indicator.text == "offline" }
    /// ```
    ///
    /// For code under test that works in tasks of its own. The clock stands meanwhile.
    ///
    /// - Parameters:
    ///   - limit: A bound in real time; it is not waited for longer than needed.
    ///   - condition: What has to hold.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when the time is over.
    public func settle(
        within limit: Duration = .seconds(60),
        until condition: () async -> Bool
    ) async throws(SimulationError) {
        let patience = Patience(limit)
        try await settle(within: limit)
        while await !condition() {
            try await patience.wait("the condition that the test waits for does not come true")
            try await settle(within: limit)
        }
    }

    /// Lets time go by, from one thing that is due to the next.
    ///
    /// ```swift
    /// try await network.advance(by: .seconds(5))
    /// ```
    ///
    /// The clock stops at every instant at which the monitor, a condition, a recording, a resolver's time-out or
    /// a task that sleeps on the clock has something to do, and goes on once that has settled, as
    /// ``settle(within:)`` has it. So handlers are called in the order and with the values of a real network,
    /// however long the step. It also settles before and after.
    ///
    /// - Parameters:
    ///   - duration: How much time.
    ///   - limit: A bound in real time for each stop.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when that is over.
    public func advance(
        by duration: Duration,
        within limit: Duration = .seconds(60)
    ) async throws(SimulationError) {
        try await simulation.advance(by: duration, within: limit)
        try checkSteps()
    }

    /// When the next thing is due, once the network has settled; `nil` for never.
    ///
    /// - Parameter limit: A bound in real time on the wait for rest.
    /// - Returns: The instant on ``clock``.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when the limit is over.
    public func nextDue(
        within limit: Duration = .seconds(60)
    ) async throws(SimulationError) -> ManualClock.Instant? {
        try await simulation.nextDue(within: limit)
    }

    /// How many questions to the resolver hang.
    public var hangingNameCount: Int { simulation.resolver.hangingCount }
}
