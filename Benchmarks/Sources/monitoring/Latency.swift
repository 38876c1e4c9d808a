// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Duel
import Glibc
import NetlinkReachability
import NetlinkRoute
import RoutingModel

/// The time from a change of a route to its callback.
struct Latency {
    private static let blocks = 24
    private static let prefix: UInt32 = Host.behind & 0xffff_ff00

    let host: Host
    /// What the line is called.
    let name: String
    /// The quiet before each change, in microseconds: both sides find their code and data as cold as it makes them.
    let pause: UInt32
    /// How many times as fast the monitor's clock goes: it has to have passed the quiet that makes a change a
    /// burst of its own, 100 ms.
    let haste: Int64
    let eventsInBlock: Int

    /// As in practice: other work on the machine has used the caches.
    static func rare(_ host: Host) -> Self {
        Self(host: host, name: "after 120 ms of quiet", pause: 120_000, haste: 1, eventsInBlock: 10)
    }

    /// The work alone, with all that it needs in the caches.
    static func frequent(_ host: Host) -> Self {
        Self(host: host, name: "after 1.2 ms of quiet", pause: 1_200, haste: 100, eventsInBlock: 200)
    }

    /// One side: starts, returns the time of the next callback within a second, ends.
    private struct Listener {
        let next: () -> Int64?
        let stop: () -> Void
    }

    func run() throws {
        var blocks: [[[Double]]] = []
        // Those of one block are measured within seconds of each other.
        for _ in 0..<Effort.scaled(Self.blocks) {
            blocks.append([
                try measure(try ourListener(onMonitorThread: true)),
                try measure(try theirListener(handsOver: false)),
                try measure(try ourListener(onMonitorThread: false)),
                try measure(try theirQueuedListener()),
                try measure(try theirListener(handsOver: true)),
            ])
        }
        let (onThread, onQueue) = ((0, "on the monitor's thread"), (2, "start(queue:)"))
        let pairs: [(ours: (place: Int, name: String), theirs: (place: Int, name: String), goal: Goal?)] = [
            (onThread, (1, "C epoll, recv, RTM_GETROUTE"), .callbackOnMonitorThread),
            (onQueue, (3, "the same, called on a dispatch queue"), .callbackOnQueue),
            (onQueue, (4, "the same, passed to another thread"), nil),
            (onQueue, (1, "C epoll, recv, RTM_GETROUTE"), nil),
        ]
        for (quantile, part) in [("p50", 0.5), ("p90", 0.9)] {
            for (ours, theirs, goal) in pairs {
                let rounds = blocks.map { block in
                    (ours: block[ours.place].quantile(part), theirs: block[theirs.place].quantile(part))
                }
                try Table.print(
                    Row(
                        "event to callback \(name), \(quantile)", ours: ours.name, theirs: theirs.name,
                        Outcome(rounds: rounds), goal: quantile == "p50" ? goal : nil)
                )
            }
        }
    }

    /// The nanoseconds from before the command to the callback, of the events with an immediate callback.
    private func measure(_ listener: Listener) throws -> [Double] {
        defer { listener.stop() }
        return try (0..<eventsInBlock).compactMap { number in
            usleep(pause)
            let began = baseline_now()
            try host.set(Self.prefix, isUnreachable: number.isMultiple(of: 2))
            return listener.next().map { Double($0 - began) }
        }
    }

    private func ourListener(onMonitorThread: Bool) throws -> Listener {
        let queue = ToldQueue()
        let source = NetworkSource(
            routing: try KernelRouting(),
            resolver: SystemResolver.shared,
            clock: HastyClock(haste: haste),
            changes: { () throws(RoutingFault) in try KernelChanges() }
        )
        let handle = try NetworkReachability(address: IPAddress(number: Host.behind), source: source)
        try handle.start(
            delivery: onMonitorThread ? .onMonitorThread : .queue(queue.queue),
            initial: .skip
        ) { _ in queue.note() }
        return Listener(next: queue.next, stop: { handle.stop() })
    }

    private func theirListener(handsOver: Bool) throws -> Listener {
        let watch = try started(baseline_watch_start(Host.behind, nil, nil))
        return Listener(
            next: {
                let time = baseline_watch_next(watch)
                return time == 0 ? nil : handsOver ? baseline_now() : time
            },
            stop: { [host] in baseline_watch_stop(watch, host.descriptor) }
        )
    }

    /// The time of the bare loop with a call on a dispatch queue, which it leaves out.
    private func theirQueuedListener() throws -> Listener {
        let queue = ToldQueue()
        let tell: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context else { return }
            let queue = Unmanaged<ToldQueue>.fromOpaque(context).takeUnretainedValue()
            queue.queue.async { queue.note() }
        }
        let context = Unmanaged.passUnretained(queue).toOpaque()
        let watch = try started(baseline_watch_start(Host.behind, tell, context))
        return Listener(
            next: queue.next,
            stop: { [host] in withExtendedLifetime(queue) { baseline_watch_stop(watch, host.descriptor) } }
        )
    }

    private func started(_ watch: OpaquePointer?) throws -> OpaquePointer {
        guard let watch else { throw MonitoringFailure("no thread for the C side") }
        return watch
    }
}

/// A clock that runs several times as fast as the system's.
private struct HastyClock: MonitorClock {
    let haste: Int64
    let timeAsleep = Duration.zero

    var now: MonitorInstant {
        MonitorInstant(nanoseconds: baseline_now() * haste)
    }

    func delay(until instant: MonitorInstant) -> Duration? {
        // A wait is as long as with the system's clock, so no timer is about to end when a change comes.
        .nanoseconds(instant.nanoseconds - now.nanoseconds)
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        // The system moves it.
    }
}

/// A queue that notes the time of its call, for the thread that waits for it.
private final class ToldQueue: Sendable {
    let queue = DispatchQueue(label: "latency")
    private let delivered = DispatchSemaphore(value: 0)
    // Written before the semaphore is signalled and read after it was waited for, which orders both.
    private nonisolated(unsafe) var time: Int64 = 0

    func note() {
        time = baseline_now()
        delivered.signal()
    }

    /// Waits for the next note and returns its time; `nil` when none comes within a second.
    func next() -> Int64? {
        delivered.wait(timeout: .now() + .seconds(1)) == .success ? time : nil
    }
}
