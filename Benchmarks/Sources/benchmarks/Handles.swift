// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel

/// What observations cost: their memory, a change that touches all of them, and one that touches one of them.
struct Handles {
    private static let first: UInt32 = 0x0a00_0000

    let host: Host

    func run() throws {
        // The memory first: what was free before would hide what is needed.
        try memory(100_000)
        try connectionMemory(100_000)
        try burst(100_000)
    }

    /// The same for a number of handles, as a place on an axis of growth.
    func grow(to count: Int) throws {
        // Below, the time is that of waking up, which the queries in C have none of.
        if count >= 1_000 { try burst(count) }
        try one(of: count)
    }

    private func start(
        _ count: Int,
        _ delivery: NetworkSource.Delivery = .queue(.global())
    ) throws -> [NetworkObservation<ReachabilityFlags>] {
        guard count > 0 else { return [] }
        let before = NetworkSource.kernel.monitorCounters.evaluations
        let observations = try (0..<count).map { number in
            try NetworkReachability(address: IPAddress(v4: Self.first + UInt32(number)))
                .observe(on: delivery) { _ in }
        }
        // All have been asked about once more, and all handlers were called.
        while NetworkSource.kernel.monitorCounters.evaluations < before + UInt64(count) {
            usleep(1_000)
        }
        usleep(300_000)
        return observations
    }

    private func memory(_ count: Int) throws {
        baseline_return_memory()
        let memory = Host.residentBytes
        let observations = try start(count)
        // Without the list of references, which is the caller's.
        let each =
            (Host.residentBytes - memory) / count - MemoryLayout<NetworkObservation<ReachabilityFlags>>.stride
        try Row("memory of each of \(count) handles", Double(each), unit: "bytes", goal: .handleMemory)
            .print()
        for observation in observations { observation.cancel() }
    }

    /// The same for connections that are followed.
    private func connectionMemory(_ count: Int) throws {
        baseline_return_memory()
        let memory = Host.residentBytes
        let before = NetworkSource.kernel.monitorCounters.evaluations
        let observations = try (0..<count).map { number in
            let connection = try Host.connection(to: IPAddress(v4: Self.first + UInt32(number)))
            return try NetworkSource.kernel.observe(.status(of: connection)) { _ in }
        }
        while NetworkSource.kernel.monitorCounters.evaluations < before + UInt64(count) {
            usleep(1_000)
        }
        usleep(300_000)
        let each =
            (Host.residentBytes - memory) / count - MemoryLayout<NetworkObservation<ConnectionStatus>>.stride
        try Row("memory of each of \(count) connections", Double(each), unit: "bytes", goal: .handleMemory)
            .print()
        for observation in observations { observation.cancel() }
    }

    /// One change that touches all handles, until each has its new flags, against the same queries.
    private func burst(_ count: Int) throws {
        let observations = try start(count, .onMonitorThread)
        let there = observations[0].current
        var rounds: [Round] = []
        for _ in 0..<Effort.scaled(10) {
            let our = try change(observations, isOff: true, since: there)
            // Not timed: the kernel announces that a route goes before it goes, and who asks at once has to ask again.
            _ = try change(observations, isOff: false, since: there)
            let began = baseline_now()
            try checked(
                "RTM_GETROUTE", baseline_packets(host.socket, Self.first, 1, 32, Int32(count)))
            rounds.append((our, Double(baseline_now() - began)))
        }
        try Row(
            "a change that touches all targets", ours: "all flags, on the monitor's thread",
            theirs: "C, 2 RTM_GETROUTE each, 64 a send", rounds, goal: .burst
        ).print()
        for observation in observations { observation.cancel() }
    }

    /// The nanoseconds from before the command until each observation has lost the flags of a host without the
    /// route, or has them again.
    private func change(
        _ observations: [NetworkObservation<ReachabilityFlags>],
        isOff: Bool,
        since there: ReachabilityFlags?
    ) throws -> Double {
        // The last burst is over.
        usleep(1_500_000)
        let began = baseline_now()
        try host.set(Self.first, length: 15, isUnreachable: isOff)
        for observation in observations {
            while (observation.current == there) == isOff {
                guard baseline_now() - began < 30_000_000_000 else {
                    throw Failure("an observation did not change within 30 s")
                }
                usleep(100)
            }
        }
        return Double(baseline_now() - began)
    }

    /// A /24 changes that holds one of all targets.
    private func one(of all: Int) throws {
        let others = try start(all - 1)
        let queue = NotingQueue()
        let handle = NetworkReachability(address: IPAddress(v4: 0x0b00_0000))
        let observation = try handle.observe(on: .queue(queue.queue), initial: .skip) { _ in queue.note() }
        usleep(500_000)
        let times = try (0..<Effort.scaled(40)).compactMap { round in
            usleep(120_000)
            let began = baseline_now()
            try host.set(0x0b00_0000, isUnreachable: round.isMultiple(of: 2))
            return queue.next().map { Double($0 - began) / 1_000 }
        }
        guard !times.isEmpty else { throw Failure("no event had a callback within a second") }
        try Row("a /24 with 1 of all targets, p50", times.median, unit: "us").print()
        for observation in [observation] + others { observation.cancel() }
    }
}
