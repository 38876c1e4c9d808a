// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

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
    struct State {
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

    let simulation: Simulation
    let state: Locked<State>
    /// The thread that is in ``change(_:)``; one at a time.
    let editing = Locked<pthread_t>(0)
    let turn = Locked(())

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
    ///   - clock: Its time; a clock of its own unless several networks share one. What is due in another network
    ///     does not stop ``advance(by:within:)``.
    public convenience init(_ condition: NetworkCondition, clock: ManualClock = ManualClock()) {
        self.init(clock: clock)
        apply(condition)
    }

    /// The network as it is now, to be looked at.
    public var host: SimulatedHost { state.withLock { $0.host } }

    /// How many handles and loops are being told of changes; a path monitor counts as one with all its loops.
    ///
    /// A loop is not among them before it has dealt with its first flags and come back for what is new. A test
    /// that starts a task with a loop waits for that:
    ///
    /// ```swift
    /// try await network.settle { network.listenerCount == 1 }
    /// ```
    public var listenerCount: Int {
        // In this order: a loop is known to be new before it takes its place.
        let userCount = source.monitor.userCount
        return max(0, userCount - simulation.newLoopCount)
    }
}
