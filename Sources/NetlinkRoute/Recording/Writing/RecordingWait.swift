// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// Waits for notifications or for the end of the recording.
struct RecordingWait {
    /// The first and the longest pause after lost notifications, in milliseconds.
    private static let backOffLimits: (first: Int32, last: Int32) = (50, 2_000)

    private let descriptor: Int32
    private let deadline: ContinuousClock.Instant?
    private var pause = Self.backOffLimits.first
    private var lastBackOff = ContinuousClock.now

    init(_ stop: RecordingStop) {
        descriptor = stop.descriptor ?? -1
        deadline = stop.duration.map { ContinuousClock.now.advanced(by: $0) }
    }

    /// Waits until the event socket is readable (`false`) or the recording ends (`true`).
    func isOver(events: Int32) throws(RoutingFault) -> Bool {
        while true {
            let rest = milliseconds
            let ready = try poll(events: events, milliseconds: rest ?? -1)
            if ready.isStopped || rest == 0 { return true }
            if ready.hasEvents { return false }
        }
    }

    /// Pauses after lost notifications, longer after each loss; `true` when the recording ends.
    mutating func backOff() throws(RoutingFault) -> Bool {
        if lastBackOff.duration(to: .now) > .seconds(30) { pause = Self.backOffLimits.first }
        let rest = milliseconds ?? .max
        let isStopped = try poll(events: -1, milliseconds: min(pause, rest)).isStopped
        lastBackOff = .now
        let isOver = isStopped || rest <= pause
        pause = min(pause * 2, Self.backOffLimits.last)
        return isOver
    }

    /// The time left; `nil` without a limit.
    ///
    /// It is 0 only at the end of the recording.
    private var milliseconds: Int32? {
        guard let deadline else { return nil }
        let rest = ContinuousClock.now.duration(to: deadline).components
        if rest.seconds < 0 || rest.attoseconds < 0 { return 0 }
        let milliseconds = rest.attoseconds / 1_000_000_000_000_000 + 1
        return rest.seconds > 1_000_000 ? Int32.max : Int32(rest.seconds * 1_000 + milliseconds)
    }

    private func poll(
        events: Int32,
        milliseconds: Int32
    ) throws(RoutingFault) -> (isStopped: Bool, hasEvents: Bool) {
        // poll() ignores negative descriptors.
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: events, events: Int16(POLLIN), revents: 0),
        ]
        guard Glibc.poll(&entries, nfds_t(entries.count), milliseconds) >= 0 || errno == EINTR else {
            throw RoutingFault(operation: "wait for notifications", number: errno)
        }
        return (entries[0].revents != 0, entries[1].revents != 0)
    }
}
