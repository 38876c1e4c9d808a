// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Started handles of the live kernel, and what each was told, under a clock that only ``settle()`` moves.
struct Monitoring {
    private struct Watched {
        let question: [String]
        let handle: NetworkReachability
        let told = Locked<[ReachabilityFlags]>([])
    }

    /// What the monitor puts off is due after so many seconds, also after some losses of announcements.
    private static let patience = 3
    /// After a minute everything is asked again, which would hide that a change went unnoticed.
    private static let lifetime = Duration.seconds(59)

    let feed: GatedFeed
    private let clock = ManualClock()
    private let source: NetworkSource
    private let queue = DispatchQueue(label: "told")
    private var watched: [Watched] = []

    /// Starts a handle for each question, as ``Questions`` reads them, with spaces between the words.
    ///
    /// - Parameters:
    ///   - buffer: The receive buffer to ask for, in bytes.
    ///   - questions: What to monitor.
    /// - Throws: When one cannot be monitored.
    init(buffer: UInt32, _ questions: [String]) throws {
        let feed = try GatedFeed(buffer: buffer)
        self.feed = feed
        source = NetworkSource(
            routing: try KernelRouting(),
            resolver: SystemResolver.shared,
            clock: ManualMonitorClock(clock),
            changes: { () throws(RoutingFault) in feed }
        )
        for question in questions {
            let words = question.split(separator: " ").map(String.init)
            let one = Watched(question: words, handle: try Questions.handle(words, source: source))
            try one.handle.start(queue: queue) { [told = one.told] flags in
                told.withLock { $0.append(flags) }
            }
            watched.append(one)
        }
    }

    /// Lets the time go by until nothing is put off any more.
    ///
    /// - Returns: For each question what it was told since the last time, then `|` and what a source that has
    ///   just been opened says.
    func settle() throws -> [String] {
        for _ in 0..<Self.patience {
            quiesce()
            clock.advance(by: .seconds(1))
        }
        quiesce()
        guard clock.now.offset < Self.lifetime else {
            throw Probe.Failure("too many steps: the look after a minute would hide what went unnoticed")
        }
        return try watched.map { one in
            let told = one.told.withLock { told in
                defer { told = [] }
                return told
            }
            let fresh = try Self.ask(one.question)
            return told.map { "\($0.rawValue)" }.joined(separator: ",") + "|\(fresh.rawValue)"
        }
    }

    /// What the monitor has counted.
    func counters() -> [String] {
        guard let counters = watched.first?.handle.monitorCounters else { return [] }
        return [
            "notifications=\(counters.notifications)", "overruns=\(counters.overruns)",
            "spoofed=\(counters.spoofed)", "evaluations=\(counters.evaluations)",
            "deliveries=\(counters.deliveries)",
            "failures=\(counters.failures)", "refusedGroups=\(counters.refusedGroups)",
        ]
    }

    /// Waits until everything that the kernel has announced so far was answered and told.
    private func quiesce() {
        // The monitor may have looked for announcements just before it was asked to tell when it is idle: what
        // came in between is answered when it is idle for the second time.
        for _ in 0..<2 {
            let isIdle = DispatchSemaphore(value: 0)
            Task { [hub = source.monitor] in
                await hub.settle()
                isIdle.signal()
            }
            isIdle.wait()
        }
        // A handler is put on the queue again after each call.
        for _ in 0..<4 { queue.sync {} }
    }

    private static func ask(_ question: [String]) throws -> ReachabilityFlags {
        do {
            return try Questions.handle(question, source: try .currentNamespace()).flags()
        } catch let error as ReachabilityError where error.code == .unknownInterface {
            // To a monitor an interface that does not exist is one that may come.
            return []
        }
    }
}
