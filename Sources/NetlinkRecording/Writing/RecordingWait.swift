// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel
internal import SystemSupport

/// Waits for notifications, for the machine's wake-up, for the loss of the reader, or for the end of the recording.
struct RecordingWait {
    /// Why a wait ended.
    enum Wake: Hashable {
        /// The recording ends.
        case stop
        /// The output is a pipe or a socket whose reader is gone.
        case hangUp
        /// An event socket is readable.
        case events
        /// The machine has slept for this long.
        case resumed(Duration)
        /// The host's clock was set.
        case clockSet
        /// The time limit is reached.
        case timeout
    }

    /// The first and the longest pause after lost notifications, in milliseconds.
    private static let backOffLimits: (first: Int32, last: Int32) = (50, 2_000)
    /// How often a wait checks for notifications: those that arrive while the process is stopped have no known time.
    private static let look = Duration.milliseconds(500)
    /// The machine has slept if its time asleep grows by at least this.
    private static let sleepThreshold = Duration.seconds(1)

    private let descriptor: Int32
    private let output: Int32
    private let deadline: ContinuousClock.Instant?
    private let sleep: SleepWatch?
    private var timeAsleep: Duration
    private var pause = Self.backOffLimits.first
    private var lastBackOff = ContinuousClock.now

    /// - Parameters:
    ///   - stop: When the recording ends.
    ///   - output: The output of the recording; -1 for files, which have no reader.
    ///   - sleep: Detects that the machine slept; `nil` if that does not matter.
    init(_ stop: RecordingStop, output: Int32 = -1, _ sleep: SleepWatch? = nil) {
        self.output = output
        descriptor = stop.descriptor ?? -1
        deadline = stop.duration.map { ContinuousClock.now.advanced(by: $0) }
        self.sleep = sleep
        timeAsleep = sleep?.timeAsleep() ?? .zero
    }

    /// Waits for the first of several events.
    ///
    /// - Parameters:
    ///   - events: The event sockets.
    ///   - limit: When to stop waiting; by default never.
    ///   - lastLook: When the event sockets were last empty.
    /// - Returns: The first event.
    /// - Throws: An error if the system refuses to wait.
    mutating func next(
        events: [Int32],
        until limit: ContinuousClock.Instant? = nil,
        _ lastLook: inout SuspendingClock.Instant
    ) throws(ReachabilityError) -> Wake {
        while true {
            let rest = Self.milliseconds(until: deadline)
            let pause = Self.milliseconds(until: limit)
            let look = events.isEmpty ? nil : Int32(Self.look / .milliseconds(1))
            let limits = [rest, pause, look].compactMap(\.self)
            let ready = try poll(events: events, milliseconds: limits.min() ?? -1)
            if !ready.hasEvents, !events.isEmpty { lastLook = .now }
            if ready.isStopped || rest == 0 { return .stop }
            if ready.isHungUp { return .hangUp }
            if ready.isAwake { return timeSlept().map(Wake.resumed) ?? .clockSet }
            if ready.hasEvents { return .events }
            if pause == 0 { return .timeout }
        }
    }

    /// Pauses after lost notifications, longer after each loss.
    ///
    /// Returns `true` if the recording ends.
    mutating func backOff() throws(ReachabilityError) -> Bool {
        if lastBackOff.duration(to: .now) > .seconds(30) { pause = Self.backOffLimits.first }
        let rest = Self.milliseconds(until: deadline) ?? .max
        let isStopped = try poll(events: [], milliseconds: min(pause, rest)).isStopped
        lastBackOff = .now
        let isOver = isStopped || rest <= pause
        pause = min(pause * 2, Self.backOffLimits.last)
        return isOver
    }

    /// How long the machine has slept since the last call; `nil` if only its clock was set.
    private mutating func timeSlept() -> Duration? {
        guard let sleep else { return nil }
        sleep.reset()
        let total = sleep.timeAsleep()
        defer { timeAsleep = total }
        return total - timeAsleep >= Self.sleepThreshold ? total - timeAsleep : nil
    }

    /// The time left until an instant, 0 only if it is reached; `nil` without an instant.
    private static func milliseconds(until instant: ContinuousClock.Instant?) -> Int32? {
        guard let instant else { return nil }
        let rest = ContinuousClock.now.duration(to: instant)
        return rest < .zero ? 0 : Int32(min(rest / .milliseconds(1), 1e9)) + 1
    }

    private func poll(
        events: [Int32],
        milliseconds: Int32
    ) throws(ReachabilityError) -> (isStopped: Bool, hasEvents: Bool, isAwake: Bool, isHungUp: Bool) {
        // poll() ignores negative descriptors.
        var entries = ([descriptor, sleep?.descriptor ?? -1] + events).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        // Without events, poll() reports only that the other end is closed.
        entries.append(pollfd(fd: output, events: 0, revents: 0))
        guard Glibc.poll(&entries, nfds_t(entries.count), milliseconds) >= 0 || errno == EINTR else {
            throw ReachabilityError(operation: "wait for notifications", number: errno)
        }
        return (
            entries[0].revents != 0, entries[2...].dropLast().contains { $0.revents != 0 },
            entries[1].revents != 0, entries.last?.revents != 0
        )
    }
}
