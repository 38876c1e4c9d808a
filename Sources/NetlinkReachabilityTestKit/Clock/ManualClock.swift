// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// A clock that stands until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// clock.advance(by: .seconds(5))
/// print(clock.now.offset)   // 5.0 seconds
/// ```
///
/// A simulated network has one, and all that it does goes by it: the pauses and time-outs of the monitor,
/// `waitUntilReachable(timeout:)`, conditions that change by themselves, recordings that are played. It is a
/// `Clock`, so that code under test which takes an `any Clock<Duration>` can go by the same time.
///
/// To move a network's time use ``SimulatedNetwork/advance(by:within:)``, which stops at everything that is due
/// on the way. ``advance(by:)`` alone runs what is due on this clock, in order, but leaves the monitor to find
/// itself at the end.
public final class ManualClock: Clock, Sendable {
    /// A point in time on a manual clock.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        /// The time since the clock was made.
        public let offset: Duration

        /// The instant so long after the clock was made.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// The instant some time later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// How much later another instant is; negative when it is earlier.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Orders by time.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    /// Something that is to happen at an instant.
    struct Timer {
        let id: UInt64
        let due: Instant
        let action: @Sendable () -> Void
    }

    /// A task that waits for one.
    fileprivate struct Sleeper {
        let timer: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var now = Instant(offset: .zero)
        var timeAsleep = Duration.zero
        /// By time, and of the same time in the order in which they were set.
        var timers: [Timer] = []
        var nextID: UInt64 = 1
        var wakes: [@Sendable () -> Void] = []
        var sleepers: [UInt64: Sleeper] = [:]
        /// Sleeps that were cancelled before they began.
        var cancelled: Set<UInt64> = []
    }

    fileprivate let state = Locked(State())

    /// Makes a clock that stands at zero.
    public init() {}

    /// The present.
    public var now: Instant { state.withLock { $0.now } }

    /// The smallest step: a nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// When the next thing on this clock is due; `nil` for nothing.
    ///
    /// The monitor's own times are not among them: see ``SimulatedNetwork/nextDue(within:)``.
    public var nextDue: Instant? { state.withLock { $0.timers.first?.due } }

    /// How many tasks sleep on this clock.
    ///
    /// A test that starts a task waits for it to sleep before it moves the time:
    ///
    /// ```swift
    /// try await network.settle { network.clock.sleeperCount == 1 }
    /// ```
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Lets time go by.
    ///
    /// What is due on the way is run in order, each at its instant, on the calling thread, before this returns.
    ///
    /// - Parameter duration: How much time; nothing happens when it is negative.
    public func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    func advance(to target: Instant) {
        while let timer = takeTimer(until: target) { timer.action() }
        let wakes = state.withLock { state in
            state.now = max(state.now, target)
            return state.wakes
        }
        for wake in wakes { wake() }
    }

    /// Suspends the machine: the clock does not move, and ``timeAsleep`` grows.
    package func sleepMachine(for duration: Duration) {
        let wakes = state.withLock { state in
            state.timeAsleep += duration
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

    private func takeTimer(until target: Instant) -> Timer? {
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
    /// Has something run at an instant: at the next move of the clock when that is over.
    @discardableResult
    func schedule(at due: Instant, _ action: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { $0.insertTimer(at: due, action) }
    }

    /// Takes a timer back; it does nothing when that has run.
    func cancel(_ id: UInt64) {
        state.withLock { state in state.timers.removeAll { $0.id == id } }
    }
}

extension ManualClock.State {
    mutating func insertTimer(at due: ManualClock.Instant, _ action: @escaping @Sendable () -> Void) -> UInt64
    {
        nextID += 1
        let place = timers.firstIndex { $0.due > due } ?? timers.endIndex
        timers.insert(ManualClock.Timer(id: nextID - 1, due: due, action: action), at: place)
        return nextID - 1
    }
}

// MARK: - Sleeping

extension ManualClock {
    /// Waits until the clock has been moved to an instant.
    ///
    /// - Parameters:
    ///   - deadline: The instant; one that is over is not waited for.
    ///   - tolerance: Not looked at: the clock is exact.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID - 1
        }
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { beginSleep(id, until: deadline, $0) }
        } onCancel: {
            cancelSleep(id)
        }
    }

    private func beginSleep(
        _ id: UInt64,
        until deadline: Instant,
        _ continuation: CheckedContinuation<Void, any Error>
    ) {
        let end: Result<Void, any Error>? = state.withLock { state in
            if state.cancelled.contains(id) { return .failure(CancellationError()) }
            if state.now >= deadline { return .success(()) }
            let timer = state.insertTimer(at: deadline) { [weak self] in self?.endSleep(id) }
            state.sleepers[id] = Sleeper(timer: timer, continuation: continuation)
            return nil
        }
        if let end { continuation.resume(with: end) }
    }

    private func endSleep(_ id: UInt64) {
        state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume()
    }

    private func cancelSleep(_ id: UInt64) {
        let sleeper = state.withLock { state in
            state.cancelled.insert(id)
            let sleeper = state.sleepers.removeValue(forKey: id)
            if let sleeper { state.timers.removeAll { $0.id == sleeper.timer } }
            return sleeper
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
