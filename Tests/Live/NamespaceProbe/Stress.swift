// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import NetlinkReachability
internal import SystemSupport
internal import TestSupport

/// Forty threads that start, restart, stop and release handles, also from within their handlers, while the
/// network flaps.
struct Stress {
    let seconds: Int

    private static let threadCount = 40
    private static let targets = ["192.0.2.9", "198.51.100.1", "default", "127.0.0.1", "2001:db8:f::1"]

    /// The counts of all threads.
    private struct Tally: Sendable {
        var rounds = 0
        var calls = 0
        /// Calls with the same flags twice in a row.
        var repeats = 0
        /// Handles that ended with wrong flags.
        var wrong = 0
        var failures: [String] = []
    }

    /// Runs the threads.
    ///
    /// - Returns: `key=value` fields: the counts, and the number of leaked sockets and threads.
    func run() throws -> [String] {
        // Permanent descriptors are open now.
        _ = try NetworkReachability(target: .defaultPath, source: .currentNamespace()).blockingFlags()
        let sockets = Self.openSockets
        let tally = Locked(Tally())
        try stress(try .currentNamespace(), tally)
        let left = Self.wait { Self.openSockets == sockets && Self.monitorThreads == 0 }
        let result = tally.withLock { $0 }
        return [
            "rounds=\(result.rounds)", "calls=\(result.calls)", "repeats=\(result.repeats)",
            "wrong=\(result.wrong)", "failures=\(result.failures.first ?? "")",
            "left=\(left ? 0 : Self.openSockets - sockets + Self.monitorThreads)",
        ]
    }

    private func stress(_ source: NetworkSource, _ tally: Locked<Tally>) throws {
        let isOver = Locked(false)
        let ended = DispatchSemaphore(value: 0)
        let shared = NetworkReachability(target: .defaultPath, source: source)
        for thread in 0..<Self.threadCount {
            let hasStarted = BackgroundThread.start("stress") {
                var round = thread
                while !isOver.withLock({ $0 }) {
                    Self.round(round, source, shared, tally)
                    round += 1
                }
                ended.signal()
            }
            guard hasStarted else { throw Probe.Failure("no thread could be started") }
        }
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end { try Self.flap() }
        isOver.withLock { $0 = true }
        for _ in 0..<Self.threadCount { ended.wait() }
        try Self.compare(source, tally)
    }

    /// An observation that a handler can release, also before it is kept.
    private final class Slot: Sendable {
        private typealias State = (observation: NetworkObservation<ReachabilityFlags>?, isReleased: Bool)
        private let state = Locked<State>((nil, false))

        func keep(_ observation: NetworkObservation<ReachabilityFlags>?) {
            state.withLock { state in
                if !state.isReleased { state.observation = observation }
            }
        }

        func release() {
            // Released outside the lock.
            let old = state.withLock { state in
                state.isReleased = true
                return state.observation.take()
            }
            withExtendedLifetime(old) {}
        }
    }

    /// The life of two observations.
    private static func round(
        _ number: Int,
        _ source: NetworkSource,
        _ shared: NetworkReachability,
        _ tally: Locked<Tally>
    ) {
        do {
            let target = targets[number % targets.count]
            let handle = try Queries.handle(
                target == "default" ? [target] : ["host", target], source: source)
            let listener = Listener(tally)
            let own = Slot()
            let observation = try handle.observe { result in
                guard case .success(let flags) = result else { return }
                listener.note(flags)
                switch number % 4 {
                case 0: own.release()
                case 1: own.keep(try? handle.observe { _ in })
                default: break
                }
            }
            if number % 4 == 0 { own.keep(try handle.observe { _ in }) }
            let (other, slot) = (Listener(tally), Slot())
            slot.keep(
                try shared.observe { result in
                    guard case .success(let flags) = result else { return }
                    other.note(flags)
                    if number.isMultiple(of: 3) { slot.release() }
                })
            _ = (observation.current, source.monitorCounters)
            // Its handler keeps it.
            if !number.isMultiple(of: 3) { slot.release() }
            if number.isMultiple(of: 2) { observation.cancel() }
            tally.withLock { $0.rounds += 1 }
        } catch {
            tally.withLock { $0.failures.append("\(error)") }
        }
    }

    /// Changes routes, rules and links, all of which are as before at the end.
    private static func flap() throws {
        var lines: [String] = []
        for number in 0..<50 {
            lines += ["route add default via 192.0.2.254", "route add ::/0 via 2001:db8::254"]
            if number.isMultiple(of: 10) {
                lines += ["rule add pref 9 to 198.51.100.0/24 prohibit", "rule del pref 9"]
            }
            lines += ["route del default", "route del ::/0"]
        }
        lines += ["link set w1 down", "link set w1 up"]
        let result = try Program.ip(lines: lines).run()
        guard result.first == "0" else { throw Probe.Failure("\(result)") }
    }

    /// Monitors all targets through another storm, and compares the final flags with a new source.
    private static func compare(_ source: NetworkSource, _ tally: Locked<Tally>) throws {
        let handles = try targets.map { target in
            try Queries.handle(target == "default" ? [target] : ["host", target], source: source)
        }
        let listeners = handles.map { _ in Listener(tally) }
        let observations = try zip(handles, listeners).map { handle, listener in
            try handle.observe { if case .success(let flags) = $0 { listener.note(flags) } }
        }
        try flap()
        let fresh = try NetworkSource.currentNamespace()
        for (handle, observation) in zip(handles, observations) {
            let isTrue = wait {
                let flags = try? NetworkReachability(target: handle.target, source: fresh).blockingFlags()
                return flags != nil && observation.current == flags
            }
            if !isTrue { tally.withLock { $0.wrong += 1 } }
            observation.cancel()
        }
    }

    /// Waits until a condition holds, for at most a minute.
    private static func wait(until isSo: () -> Bool) -> Bool {
        let limit = ContinuousClock.now + .seconds(60)
        while !isSo() {
            guard ContinuousClock.now < limit else { return false }
            poll(nil, 0, 5)
        }
        return true
    }

    /// Records the calls of one handler.
    private final class Listener: Sendable {
        private let last = Locked<ReachabilityFlags?>(nil)
        private let tally: Locked<Tally>

        init(_ tally: Locked<Tally>) {
            self.tally = tally
        }

        func note(_ flags: ReachabilityFlags) {
            let before = last.withLock { last in
                defer { last = flags }
                return last
            }
            tally.withLock { tally in
                tally.calls += 1
                if before == flags { tally.repeats += 1 }
            }
        }
    }
}

extension Stress {
    /// Not the epoll handles: each listening socket has one, and Dispatch makes one when it is busy.
    private static var openSockets: Int {
        ProcessResources.descriptors(beginning: "socket:").count
    }

    private static var monitorThreads: Int {
        ProcessResources.threads(named: "netlink-monitor")
    }
}
