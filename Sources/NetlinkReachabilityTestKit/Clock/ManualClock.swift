// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
internal import SystemSupport

/// A clock that a test advances by hand.
///
/// ```swift
/// let clock = ManualClock()
/// clock.advance(by: .seconds(5))
/// print(clock.now.offset)   // 5.0 seconds
/// ```
///
/// A simulated network uses a manual clock for everything that takes time: the delays and time-outs of the monitor,
/// `waitUntilReachable(timeout:)`, conditions with steps and recordings. Also pass the clock to code under test that
/// takes an `any Clock<Duration>`.
///
/// Advance the time of a network with ``SimulatedNetwork/advance(by:within:)``, which stops at each instant at which
/// something is due. ``advance(by:)`` runs the timers of this clock in order, but the monitor sees only the final
/// instant.
public final class ManualClock: Clock, Sendable {
    /// A point in time on a manual clock.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        /// The time since the clock was created.
        public let offset: Duration

        /// Creates the instant at an offset from the creation of the clock.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// Returns the instant at a distance from this one.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// Returns the distance to another instant; negative if the other instant is earlier.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Orders by time.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    /// An action that runs at an instant.
    struct Timer {
        let id: UInt64
        let due: Instant
        /// Whether a task sleeps until the action runs.
        let isSleep: Bool
        /// Receives the timer's number.
        let action: @Sendable (UInt64) -> Void
    }

    fileprivate struct State {
        var now = Instant(offset: .zero)
        var timeAsleep = Duration.zero
        /// The timers by instant, then in the order in which they were scheduled.
        var timers: [Timer] = []
        var nextID: UInt64 = 1
        var wakes: [@Sendable () -> Void] = []
    }

    fileprivate let state = Locked(State())

    /// Creates a clock at zero.
    public init() {}

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }

    /// The smallest step, 1 ns.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The instant of the next timer; `nil` without timers.
    ///
    /// The monitor's own deadlines are not included: see ``SimulatedNetwork/nextDue(within:)``.
    public var nextDue: Instant? { state.withLock { $0.timers.first?.due } }

    /// The number of tasks that sleep on this clock.
    ///
    /// After starting a task, wait until it sleeps before advancing the time:
    ///
    /// ```swift
    /// try await network.settle { network.clock.sleeperCount == 1 }
    /// ```
    public var sleeperCount: Int { state.withLock { $0.timers.count { $0.isSleep } } }

    /// Advances the clock.
    ///
    /// The due timers run in order on the calling thread, each at its instant, before this function returns.
    ///
    /// - Parameter duration: The distance; a negative distance has no effect.
    public func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    func advance(to target: Instant) {
        while let timer = popTimer(until: target) { timer.action(timer.id) }
        move { $0.now = max($0.now, target) }
    }

    /// Suspends the machine: the clock does not move, and ``timeAsleep`` grows.
    package func sleepMachine(for duration: Duration) {
        move { $0.timeAsleep += duration }
    }

    private func move(_ change: (inout State) -> Void) {
        let wakes = state.withLock { state in
            change(&state)
            return state.wakes
        }
        for wake in wakes { wake() }
    }

    /// How long the machine has been suspended.
    package var timeAsleep: Duration { state.withLock { $0.timeAsleep } }

    /// Calls a closure whenever the clock has moved.
    package func onMove(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakes.append(wake) }
    }

    /// The number of closures that ``onMove(_:)`` has registered.
    package var moveListenerCount: Int { state.withLock { $0.wakes.count } }

    private func popTimer(until target: Instant) -> Timer? {
        state.withLock { state in
            guard let first = state.timers.first, first.due <= target else { return nil }
            state.timers.removeFirst()
            state.now = max(state.now, first.due)
            return first
        }
    }
}

// MARK: - Timers

extension ManualClock {
    /// Schedules an action; an action in the past runs at the next move of the clock.
    @discardableResult
    func schedule(at due: Instant, _ action: @escaping @Sendable (UInt64) -> Void) -> UInt64 {
        state.withLock { $0.insert(due, action) }
    }

    /// Cancels a timer, unless it has run.
    func cancel(_ id: UInt64) {
        state.withLock { state in state.timers.removeAll { $0.id == id } }
    }
}

extension ManualClock.State {
    mutating func insert(
        _ due: ManualClock.Instant,
        isSleep: Bool = false,
        _ action: @escaping @Sendable (UInt64) -> Void
    ) -> UInt64 {
        let timer = ManualClock.Timer(id: nextID, due: due, isSleep: isSleep, action: action)
        nextID += 1
        timers.insert(timer, at: timers.firstIndex { $0.due > due } ?? timers.endIndex)
        return timer.id
    }
}

// MARK: - Sleeping

extension ManualClock {
    /// Suspends the task until the clock has reached an instant.
    ///
    /// - Parameters:
    ///   - deadline: The instant; returns immediately when it has passed.
    ///   - tolerance: Ignored: the clock is exact.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        let timer: UInt64? = state.withLock { state in
            guard state.now < deadline else { return nil }
            return state.insert(deadline, isSleep: true) { _ in continuation.yield() }
        }
        guard let timer else { return try Task.checkCancellation() }
        continuation.onTermination = { [weak self] _ in self?.cancel(timer) }
        // The stream ends without an element if the task is cancelled.
        for await _ in ends { return }
        throw CancellationError()
    }
}

// MARK: - For monitors

/// A manual clock as the clock of a monitor.
package struct ManualMonitorClock: MonitorClock {
    private let clock: ManualClock

    /// Adapts a clock.
    package init(_ clock: ManualClock) {
        self.clock = clock
    }

    package var now: MonitorInstant {
        MonitorInstant(nanoseconds: Int64(clock.now.offset.nanoseconds))
    }

    package var timeAsleep: Duration { clock.timeAsleep }

    /// Returns `nil` for a future instant: the monitor waits until the clock moves.
    package func delay(until instant: MonitorInstant) -> Duration? {
        instant <= now ? .zero : nil
    }

    package func onMove(_ wake: @escaping @Sendable () -> Void) {
        clock.onMove(wake)
    }
}
