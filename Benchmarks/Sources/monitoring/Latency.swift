// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Duel
import Glibc
import NetlinkReachability
import NetlinkRoute
import RoutingModel

/// How long after a change of a route somebody is told.
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

    /// As in use: whatever else runs on the machine has the caches.
    static func rare(_ host: Host) -> Self {
        Self(host: host, name: "after 120 ms of quiet", pause: 120_000, haste: 1, eventsInBlock: 10)
    }

    /// The work alone, with all that it needs in the caches.
    static func frequent(_ host: Host) -> Self {
        Self(host: host, name: "after 1.2 ms of quiet", pause: 1_200, haste: 100, eventsInBlock: 200)
    }

    /// One side: starts, tells when it was told of the next change, ends.
    private struct Listener {
        let next: () -> Int64
        let stop: () -> Void
    }

    func run() throws {
        var (ours, bare, handed): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<Self.blocks {
            ours += try measure(try ourListener())
            bare += try measure(try theirListener(handsOver: false))
            handed += try measure(try theirListener(handsOver: true))
        }
        for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            let our = ours.quantile(part)
            tell("event to callback, \(self.name), \(name)   \((our / 1_000).rounded2) us")
            let rivals = [
                ("C epoll, recv, RTM_GETROUTE", bare), ("the same, told to another thread", handed),
            ]
            for (rival, times) in rivals {
                let their = times.quantile(part)
                tell("    \(rival)   \((their / 1_000).rounded2) us   ratio \((our / their).rounded2)")
            }
        }
    }

    /// The nanoseconds from before the command to when somebody was told.
    private func measure(_ listener: Listener) throws -> [Double] {
        defer { listener.stop() }
        return try (0..<eventsInBlock).map { number in
            usleep(pause)
            let began = baseline_now()
            try host.set(Self.prefix, isUnreachable: number.isMultiple(of: 2))
            return Double(listener.next() - began)
        }
    }

    private func ourListener() throws -> Listener {
        let told = DispatchSemaphore(value: 0)
        let time = Time()
        let source = NetworkSource(
            routing: try KernelRouting(),
            resolver: SystemResolver.shared,
            clock: HastyClock(haste: haste),
            changes: { () throws(RoutingFault) in try KernelChanges() }
        )
        let handle = try NetworkReachability(address: IPAddress(number: Host.behind), source: source)
        try handle.start(queue: DispatchQueue(label: "latency"), initial: .skip) { _ in
            time.value = baseline_now()
            told.signal()
        }
        return Listener(
            next: {
                told.wait()
                return time.value
            },
            stop: { handle.stop() }
        )
    }

    private func theirListener(handsOver: Bool) throws -> Listener {
        guard let watch = baseline_watch_start(Host.behind) else {
            throw MonitoringFailure("no thread for the C side")
        }
        return Listener(
            next: {
                let time = baseline_watch_next(watch)
                return handsOver ? baseline_now() : time
            },
            stop: { [host] in baseline_watch_stop(watch, host.descriptor) }
        )
    }
}

/// The system's clock, some times as fast.
private struct HastyClock: MonitorClock {
    let haste: Int64
    let timeAsleep = Duration.zero

    var now: MonitorInstant {
        MonitorInstant(nanoseconds: baseline_now() * haste)
    }

    func delay(until instant: MonitorInstant) -> Duration? {
        .nanoseconds((instant.nanoseconds - now.nanoseconds) / haste)
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        // Nobody moves it.
    }
}

/// A time that one thread leaves for another, which waits for a semaphore in between.
private final class Time: Sendable {
    // Written before the semaphore is signalled and read after it was waited for, which orders both.
    nonisolated(unsafe) var value: Int64 = 0
}
