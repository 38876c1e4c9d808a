// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import SystemSupport

/// Observations of any number of targets, and the thread that waits for an end.
///
/// Results come from the monitor on one serial queue, each with the index of its target.
final class TargetWatcher {
    /// The pause before a monitor that could not be started is tried again, in milliseconds.
    static let retryPause: Int32 = 5_000
    /// The time after which a name counts as not resolved yet, in milliseconds.
    private static let resolutionGrace: Int32 = 100

    private typealias Watched = (index: Int, target: ReachabilityTarget)
    private typealias Observation = NetworkObservation<ReachabilityReport>

    private let options: ReachabilityOptions
    private let detail: ReachabilityReport.Detail
    private let changes: ReachabilityReport.Change
    /// Takes the results; one that ends the run ends ``wait(for:until:)``.
    let handler: @Sendable (Int, Answer?) -> Void
    /// What is read while ``wait(for:until:)`` waits; `nil` for nothing.
    var events: WatchedEvents?
    private let queue = DispatchQueue(label: "netflags.watch")
    private let finished: EventFD
    private var observations: [Observation] = []
    private var failed: [Watched] = []
    /// Names whose first result is awaited.
    private var unresolved: [(index: Int, observation: Observation)] = []

    /// - Parameters:
    ///   - options: The socket of the queries.
    ///   - detail: How much the reports contain.
    ///   - changes: What counts as a change of them.
    ///   - handler: Takes a result, and returns whether it ends the run.
    /// - Throws: An error of a process that has no memory for threads, or no descriptor.
    init(
        _ options: ReachabilityOptions,
        _ detail: ReachabilityReport.Detail,
        onChangeOf changes: ReachabilityReport.Change = .flags,
        _ handler: @escaping @Sendable (Int, Answer?) -> Bool
    ) throws(ReachabilityError) {
        self.options = options
        self.detail = detail
        self.changes = changes
        try Self.checkThreads()
        let finished = try Result { () throws(SystemCallError) in try EventFD() }
            .mapError(ReachabilityError.init).get()
        self.finished = finished
        self.handler = { if handler($0, $1) { finished.signal() } }
    }

    /// Checks that the monitor and libdispatch can start their threads: libdispatch would wait for ever.
    static func checkThreads() throws(ReachabilityError) {
        do {
            try FreeResources.checkThreads(FreeResources.dispatchThreads + 1)
        } catch {
            throw ReachabilityError(error)
        }
    }

    /// Begins to observe a target.
    ///
    /// - Throws: ``ReachabilityError`` when that fails; ``wait(for:until:)`` tries it again.
    func add(_ target: ReachabilityTarget, at index: Int) throws(ReachabilityError) {
        do {
            try observe((index, target))
        } catch {
            failed.append((index, target))
            throw error
        }
    }

    /// Whether a target is observed.
    var hasStarted: Bool { !observations.isEmpty }

    private func observe(_ watched: Watched) throws(ReachabilityError) {
        let (handler, index) = (handler, watched.index)
        let query = NetworkQuery.reports(
            on: watched.target, options: options, detail, onChangeOf: changes)
        let observation = try NetworkSource.kernel.observe(query, on: .queue(queue)) { handler(index, $0) }
        observations.append(observation)
        if watched.target.isName { unresolved.append((index, observation)) }
    }

    // MARK: Waiting

    /// Waits until every result so far was passed to the handler.
    func drain() {
        queue.sync {}
    }

    /// Waits until a descriptor is ready, a result ends the run, or the time limit is reached, and observes again what
    /// failed.
    ///
    /// - Parameters:
    ///   - descriptors: What to wait for, with the events of poll(2).
    ///   - deadline: When to stop waiting; `nil` for never.
    /// - Returns: The index of the first ready descriptor; `descriptors.count` at the end of the run; `nil` when the
    ///   time is over.
    func wait(for descriptors: [(Int32, Int32)], until deadline: ContinuousClock.Instant? = nil) -> Int? {
        let clock = ContinuousClock()
        let grace = clock.now + .milliseconds(Self.resolutionGrace)
        var retry = clock.now + .milliseconds(Int(Self.retryPause))
        while true {
            let ends = descriptors + [(finished.descriptor, POLLIN)]
            var waits = (ends + [(events?.descriptor ?? -1, POLLIN)]).map {
                pollfd(fd: $0.0, events: Int16($0.1), revents: 0)
            }
            let limits = [
                deadline.map { max(0, ($0 - clock.now).milliseconds) },
                unresolved.isEmpty ? nil : Self.resolutionGrace, failed.isEmpty ? nil : Self.retryPause,
            ]
            let timeout = limits.compactMap(\.self).min() ?? -1
            if waitForDescriptors(&waits, milliseconds: timeout) > 0 {
                if let ready = waits[..<ends.count].firstIndex(where: { $0.revents != 0 }) { return ready }
                events?.read()
            }
            if let deadline, clock.now >= deadline { return nil }
            if clock.now >= grace {
                for (index, observation) in unresolved where observation.current == nil {
                    handler(index, nil)
                }
                unresolved = []
            }
            guard clock.now >= retry else { continue }
            retry = clock.now + .milliseconds(Int(Self.retryPause))
            failed = failed.filter { (try? observe($0)) == nil }
        }
    }
}

extension ReachabilityError {
    /// Whether the kernel or a sandbox refuses what a handle needs, such as netlink sockets, for as long as the process
    /// runs.
    var isRefusal: Bool {
        code == .systemFailure
            && [EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT].contains(number)
    }
}
