// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel

/// The time from a change of a route to its callback on a dispatch queue.
///
/// Each change follows 120 ms of quiet, as in practice: the monitor answers it at once, and other work on the machine
/// has used the caches.
struct Latency {
    private static let blocks = 24
    private static let eventsInBlock = 10

    let host: Host

    /// One side: starts, returns the time of the next callback within a second, ends.
    private struct Listener {
        let next: () -> Int64?
        let stop: () -> Void
    }

    func run() throws {
        try compare(
            "event to callback, p50", "observe(on:)", "C epoll, 2 RTM_GETROUTE in a send, queue", from: 0,
            .callbackOnQueue, ourListener)
        let connection = try Host.connection(to: IPAddress(v4: Host.behind))
        try compare(
            "event to callback of a connection, p50", "observe(.status)",
            "C epoll, 4 RTM_GETROUTE in a send, queue",
            from: UInt32(truncatingIfNeeded: connection.local.low),
            .connectionCallback
        ) { try connectionListener(connection) }
    }

    private func compare(
        _ name: String,
        _ ours: String,
        _ theirs: String,
        from local: UInt32,
        _ goal: Goal,
        _ listener: () throws -> Listener
    ) throws {
        var rounds: [Round] = []
        // Those of one block are measured within seconds of each other.
        for _ in 0..<Effort.scaled(Self.blocks) {
            rounds.append((try measure(try listener()), try measure(try theirListener(from: local))))
        }
        try Row(name, ours: ours, theirs: theirs, rounds, goal: goal).print()
    }

    /// The median of the nanoseconds from before the command to the callback, of the events with a callback.
    private func measure(_ listener: Listener) throws -> Double {
        defer { listener.stop() }
        let times = try (0..<Self.eventsInBlock).compactMap { number in
            usleep(120_000)
            let began = baseline_now()
            try host.set(Host.behind & 0xffff_ff00, isUnreachable: number.isMultiple(of: 2))
            return listener.next().map { Double($0 - began) }
        }
        guard !times.isEmpty else { throw Failure("no event had a callback within a second") }
        return times.median
    }

    private func ourListener() throws -> Listener {
        let queue = NotingQueue()
        let handle = NetworkReachability(address: IPAddress(v4: Host.behind))
        let observation = try handle.observe(on: .queue(queue.queue), initial: .skip) { _ in queue.note() }
        return Listener(next: queue.next, stop: { observation.cancel() })
    }

    private func connectionListener(_ connection: NetworkConnection) throws -> Listener {
        let queue = NotingQueue()
        let query = NetworkQuery.status(of: connection)
        let observation = try NetworkSource.kernel.observe(query, on: .queue(queue.queue)) { _ in queue.note()
        }
        // The first call has the current status.
        _ = queue.next()
        return Listener(next: queue.next, stop: { observation.cancel() })
    }

    /// The loop in C, which calls on a dispatch queue: for a connection if the local address is not 0.
    private func theirListener(from local: UInt32) throws -> Listener {
        let queue = NotingQueue()
        let notify: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context else { return }
            let queue = Unmanaged<NotingQueue>.fromOpaque(context).takeUnretainedValue()
            queue.queue.async { queue.note() }
        }
        let context = Unmanaged.passUnretained(queue).toOpaque()
        guard let watch = baseline_watch_start(local, Host.behind, notify, context) else {
            throw Failure("no thread for the C side")
        }
        return Listener(
            next: queue.next,
            stop: { [host] in withExtendedLifetime(queue) { baseline_watch_stop(watch, host.socket) } }
        )
    }
}

/// A queue that notes the time of its call, for the thread that waits for it.
final class NotingQueue: Sendable {
    let queue = DispatchQueue(label: "noting")
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
