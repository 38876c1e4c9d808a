// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import SystemSupport

/// Observations of any number of queries, and a thread that waits until the run ends.
///
/// Results are delivered on one serial queue, each with the index of its query.
final class QueryWatcher<Value: Sendable> {
    /// The time after which a monitor that could not be started is tried again, in milliseconds.
    private static var retryPause: Int32 { 5_000 }
    /// The time after which a name counts as not resolved yet, in milliseconds.
    private static var resolutionGrace: Int32 { 100 }

    typealias Answer = Result<Value, ReachabilityError>
    private typealias Watched = (index: Int, query: NetworkQuery<Value>)

    /// Receives the results; a result that ends the run ends ``wait(for:until:)``.
    let handler: @Sendable (Int, Answer?) -> Void
    /// The events that are read while ``wait(for:until:)`` waits; `nil` for none.
    var events: WatchedEvents?
    private let queue = DispatchQueue(label: "netflags.watch")
    private let finished: EventFD
    private var observations: [NetworkObservation<Value>] = []
    private var failed: [Watched] = []
    /// Names whose first result has not been delivered.
    private var unresolved: [(index: Int, observation: NetworkObservation<Value>)] = []

    /// - Parameter handler: Receives a result, and returns whether the result ends the run.
    /// - Throws: An error if the process has no memory for threads, or no free descriptor.
    init(_ handler: @escaping @Sendable (Int, Answer?) -> Bool) throws(ReachabilityError) {
        try checkThreads()
        let finished = try Result { () throws(SystemCallError) in try EventFD() }
            .mapError(ReachabilityError.init).get()
        self.finished = finished
        self.handler = { if handler($0, $1) { finished.signal() } }
    }

    /// Begins to observe a query.
    ///
    /// - Throws: ``ReachabilityError`` if the query cannot be observed.
    func add(_ query: NetworkQuery<Value>, at index: Int) throws(ReachabilityError) {
        let handler = handler
        let observation = try NetworkSource.kernel.observe(query, on: .queue(queue)) { handler(index, $0) }
        observations.append(observation)
        if query.name != nil { unresolved.append((index, observation)) }
    }

    /// Begins to observe a query; on failure the handler receives the error, and ``wait(for:until:)`` tries again.
    ///
    /// - Throws: An error if the first query of all is refused.
    func addOrRetry(_ query: NetworkQuery<Value>, at index: Int) throws(ReachabilityError) {
        do {
            try add(query, at: index)
        } catch {
            if error.isRefusal, observations.isEmpty { throw error }
            failed.append((index, query))
            handler(index, .failure(error))
        }
    }

    /// A function that ends ``wait(for:until:)``.
    var end: @Sendable () -> Void {
        let finished = finished
        return { finished.signal() }
    }

    // MARK: Waiting

    /// Waits until every result so far has been passed to the handler.
    func drain() {
        queue.sync {}
    }

    /// Waits until a descriptor is ready, a result ends the run, or the time limit is reached, and retries queries that
    /// could not be observed.
    ///
    /// - Parameters:
    ///   - descriptors: The descriptors to wait for, with the events of poll(2).
    ///   - deadline: When to stop waiting; `nil` for no limit.
    /// - Returns: The index of the first ready descriptor; `descriptors.count` at the end of the run; `nil` when the
    ///   deadline has passed.
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
            failed = failed.filter { (try? add($0.query, at: $0.index)) == nil }
        }
    }
}

extension ReachabilityError {
    /// Whether the kernel or a sandbox denies what a monitor needs, such as netlink sockets, as long as the process
    /// runs.
    fileprivate var isRefusal: Bool {
        code == .systemFailure
            && [EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT].contains(number)
    }
}
