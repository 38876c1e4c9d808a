// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Duel
import Glibc
import NetlinkReachability

/// The time from a change of a route to its callback on a dispatch queue.
///
/// Each change follows 120 ms of quiet, as in practice: the monitor answers it at once, and other work on the machine
/// has used the caches.
struct Latency {
    private static let blocks = 24
    private static let eventsInBlock = 10
    private static let prefix: UInt32 = Host.behind & 0xffff_ff00

    let host: Host

    /// One side: starts, returns the time of the next callback within a second, ends.
    private struct Listener {
        let next: () -> Int64?
        let stop: () -> Void
    }

    func run() throws {
        var rounds: [(ours: Double, theirs: Double)] = []
        // Those of one block are measured within seconds of each other.
        for _ in 0..<Effort.scaled(Self.blocks) {
            rounds.append((try measure(try ourListener()), try measure(try theirListener())))
        }
        try Table.print(
            Row(
                "event to callback, p50", ours: "start(queue:)", theirs: "C epoll, RTM_GETROUTE, queue",
                Outcome(rounds: rounds), goal: .callbackOnQueue))
    }

    /// The nanoseconds from before the command to the callback, of the events with an immediate callback.
    private func measure(_ listener: Listener) throws -> Double {
        defer { listener.stop() }
        return try (0..<Self.eventsInBlock).compactMap { number in
            usleep(120_000)
            let began = baseline_now()
            try host.set(Self.prefix, isUnreachable: number.isMultiple(of: 2))
            return listener.next().map { Double($0 - began) }
        }.quantile(0.5)
    }

    private func ourListener() throws -> Listener {
        let queue = NotingQueue()
        let handle = try NetworkReachability(address: IPAddress(number: Host.behind))
        try handle.start(queue: queue.queue, initial: .skip) { _ in queue.note() }
        return Listener(next: queue.next, stop: { handle.stop() })
    }

    /// The loop in C, which calls on a dispatch queue.
    private func theirListener() throws -> Listener {
        let queue = NotingQueue()
        let notify: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context else { return }
            let queue = Unmanaged<NotingQueue>.fromOpaque(context).takeUnretainedValue()
            queue.queue.async { queue.note() }
        }
        let context = Unmanaged.passUnretained(queue).toOpaque()
        guard let watch = baseline_watch_start(Host.behind, notify, context) else {
            throw MonitoringFailure("no thread for the C side")
        }
        return Listener(
            next: queue.next,
            stop: { [host] in withExtendedLifetime(queue) { baseline_watch_stop(watch, host.descriptor) } }
        )
    }
}

/// A queue that notes the time of its call, for the thread that waits for it.
private final class NotingQueue: Sendable {
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
