// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
package import NetlinkRecording
internal import RoutingModel
internal import SystemSupport

/// A network in memory, evaluated by the same rules and monitor as the kernel's.
///
/// ```swift
/// let network = SimulatedNetwork(.wifi)
/// let reachability = try NetworkReachability(host: "example.com", source: network.source)
/// let observation = try reachability.observe { result in print((try? result.get())?.letters ?? "unknown") }
/// try await network.settle()                                      // prints -R -------
/// try network.change { try $0.setCarrier("wlan0", isPresent: false) }
/// try await network.settle()                                      // prints -- -------
/// ```
///
/// Pass ``source`` to the code under test, change the network with ``change(_:)`` or ``apply(_:)``, and wait with
/// ``settle(within:)`` until the changes have been delivered. Time stands until ``advance(by:within:)``.
/// `docs/testing.md` has a worked example.
///
/// Queries are answered as by the kernel: policy rules, longest prefix, metrics, interface states. Packet loss and
/// delay are not simulated, except for remotes that stop answering (``SimulatedHost/silence``).
///
/// It is safe to use from any thread.
public final class SimulatedNetwork: Sendable {
    struct State {
        var host = SimulatedHost()
        /// The number of the current condition's application, so that steps of earlier conditions stop.
        var application = 0
        var failure: SimulationError?
        var timedExpiries: Set<ManualClock.Instant> = []
        /// The recording being played; `nil` for none.
        var player: RecordingPlayer?
        /// The network at the current step of the recording.
        var recorded: RecordedRouting?

        /// The tables that answer a query; throws when queries fail.
        mutating func tables(at now: ManualClock.Instant) throws(ReachabilityError) -> any RoutingSource {
            if let failure = host.failures.queries { throw failure.error("ask for a route") }
            if let recorded { return recorded }
            host.moveOn(to: now)
            return host.routing
        }

        /// The sockets and neighbours that show whether anything answers; `nil` for a recording.
        mutating func answers(at now: ManualClock.Instant) -> AnswerRecord? {
            guard recorded == nil else { return nil }
            host.moveOn(to: now)
            return host.answerRecord
        }
    }

    /// The network's time.
    public let clock: ManualClock
    /// The source for the code under test.
    public let source: NetworkSource

    let resolver: SimulatedResolver
    let feeds = SimulatedFeeds()
    let work = InFlightCounter()
    let state = Locked(State())
    /// The thread that runs ``change(_:)``; one thread at a time.
    let editing = Locked<pthread_t>(0)
    let turn = Locked(())

    /// Creates a network with only the loopback interface and without names.
    ///
    /// - Parameter clock: The clock; networks can share one.
    public init(clock: ManualClock = ManualClock()) {
        self.clock = clock
        resolver = SimulatedResolver(clock: clock) { [state] name in
            state.withLock { $0.host.names.answer(to: name) }
        }
        source = NetworkSource(
            routing: SimulatedRouting(state: state, clock: clock),
            resolver: resolver,
            clock: ManualMonitorClock(clock),
            work: work,
            nameservers: { [state] in state.withLock { $0.host.names.servers } },
            changes: { [state, feeds] () throws(ReachabilityError) in
                let failures = state.withLock { $0.host.failures }
                if let failure = failures.opening { throw failure.error("open a netlink socket") }
                return try feeds.open(
                    refusedGroups: failures.refusesNotifications ? EventGroup.monitored.count : 0
                )
            }
        )
    }

    /// The present state of the network.
    public var host: SimulatedHost { state.withLock { $0.host } }

    /// The tables of the host, or of the recording being played at this instant.
    package var tables: RecordedRouting {
        state.withLock { $0.recorded ?? RecordedRouting($0.host.state.routing) }
    }

    /// The number of handles and loops that receive changes; a path monitor with all its loops counts as one.
    ///
    /// A loop counts once it has handled its first flags and waits for the next flags. After starting a task with a
    /// loop, wait for the loop:
    ///
    /// ```swift
    /// try await network.settle { network.listenerCount == 1 }
    /// ```
    public var listenerCount: Int {
        // In this order: a loop counts as new before it registers.
        let userCount = source.monitor.userCount
        return max(0, userCount - work.newLoopCount)
    }
}
