// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Duel
import Glibc
import NetlinkReachability
import Synchronization

/// What handles cost: at rest, when all is in motion, and when few of many are concerned.
struct ManyHandles {
    private static let first: UInt32 = 0x0a00_0000

    let host: Host

    func run() throws {
        // The memory first: what was free before would hide what is needed.
        try memory(100_000)
        try all(100_000)
    }

    /// The same for a number of handles, as a place on an axis of growth.
    func grow(to count: Int) throws {
        // Below, the time is that of waking up, which the questions in C have none of.
        if count >= 1_000 { try all(count) }
        try prefix(1, of: count)
    }

    private func start(
        _ count: Int,
        _ delivery: NetworkReachability.Delivery? = nil
    ) throws -> [NetworkReachability] {
        guard count > 0 else { return [] }
        let before = try NetworkReachability(target: .defaultPath).monitorCounters.evaluations
        let handles = try (0..<count).map { number in
            let handle = try NetworkReachability(address: IPAddress(number: Self.first + UInt32(number)))
            if let delivery {
                try handle.start(delivery: delivery) { _ in }
            } else {
                try handle.start { _ in }
            }
            return handle
        }
        // All have been asked about once more, and all handlers were called.
        while handles[0].monitorCounters.evaluations < before + UInt64(count) { usleep(1_000) }
        usleep(300_000)
        return handles
    }

    private func memory(_ count: Int) throws {
        baseline_return_memory()
        let memory = Process.residentBytes
        let handles = try start(count)
        // Without the list of references, which is the caller's.
        let each = (Process.residentBytes - memory) / count - MemoryLayout<NetworkReachability>.stride
        let name = "memory of each of \(count) handles"
        try Table.print(Row(name, Double(each), unit: "bytes", goal: .handleMemory))
        for handle in handles { handle.stop() }
    }

    /// One change that touches all handles, until each has its new flags, against the same questions.
    private func all(_ count: Int) throws {
        let handles = try start(count, .onMonitorThread)
        let there = handles[0].currentFlags
        var rounds: [(ours: Double, theirs: Double)] = []
        for _ in 0..<Effort.scaled(10) {
            let our = try change(handles, isOff: true, since: there)
            // Not timed: the kernel announces that a route goes before it goes, and who asks at once has to ask again.
            _ = try change(handles, isOff: false, since: there)
            let began = baseline_now()
            try checked(
                "RTM_GETROUTE", baseline_routes_together(host.descriptor, Self.first, 1, true, Int32(count)))
            rounds.append((our, Double(baseline_now() - began)))
        }
        try Table.print(
            Row(
                "a change that touches all targets",
                ours: "all flags, on the monitor's thread",
                theirs: "C RTM_GETROUTE, FIB_MATCH, 64 a send", Outcome(rounds: rounds),
                goal: .burst)
        )
        for handle in handles { handle.stop() }
    }

    /// The nanoseconds from before the command until each handle has lost the flags of a host without the route, or
    /// has them again.
    private func change(
        _ handles: [NetworkReachability],
        isOff: Bool,
        since there: ReachabilityFlags?
    ) throws -> Double {
        // The last burst is over.
        usleep(1_500_000)
        let began = baseline_now()
        try host.set(Self.first, length: 15, isUnreachable: isOff)
        for handle in handles {
            while (handle.currentFlags == there) == isOff {
                guard baseline_now() - began < 30_000_000_000 else {
                    throw MonitoringFailure("a handle did not change within 30 s")
                }
                usleep(100)
            }
        }
        return Double(baseline_now() - began)
    }

    /// One /24 changes, which holds some of all targets.
    private func prefix(_ inside: Int, of all: Int = 100_000) throws {
        let deliveries = Deliveries()
        let others = try start(all - inside)
        let queue = DispatchQueue(label: "inside")
        let few = try (0..<inside).map { number in
            let address = IPAddress(number: 0x0b00_0000 + UInt32(number))
            let handle = try NetworkReachability(address: address)
            try handle.start(queue: queue, initial: .skip) { _ in deliveries.note(of: inside) }
            return handle
        }
        usleep(500_000)
        var times: [Double] = []
        for round in 0..<Effort.scaled(40) {
            usleep(120_000)
            let began = baseline_now()
            try host.set(0x0b00_0000, isUnreachable: round.isMultiple(of: 2))
            deliveries.wait()
            times.append(Double(deliveries.time - began) / 1_000)
        }
        let name = "a /24 with \(inside) of all targets"
        try Table.print(Row("\(name), p50", times.quantile(0.5), unit: "us"))
        for handle in few + others { handle.stop() }
    }
}

/// When the last of some handlers was called.
private final class Deliveries: Sendable {
    private let count = Atomic<Int>(0)
    private let lastTime = Atomic<Int64>(0)
    private let areAll = DispatchSemaphore(value: 0)

    var time: Int64 { lastTime.load(ordering: .acquiring) }

    func note(of number: Int) {
        guard count.add(1, ordering: .relaxed).newValue.isMultiple(of: number) else { return }
        lastTime.store(baseline_now(), ordering: .releasing)
        areAll.signal()
    }

    func wait() {
        areAll.wait()
    }
}
