// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import SystemSupport

/// An observation of one query or of many, which ends when it is cancelled or released.
///
/// ```swift
/// final class Uplink {
///     private var observation: NetworkObservation<ReachabilityFlags>?
///
///     func begin() throws {
///         observation = try NetworkReachability(host: "example.com").observe { result in
///             if case .success(let flags) = result { print(flags.letters) }
///         }
///     }
/// }
/// ```
///
/// Keep it for as long as the handler is to be called.
///
/// - Calls never overlap, even with many queries and on a concurrent queue. No lock is held during a call.
/// - The first call has the current value, and each later call has a value that differs from the one before.
/// - A handler that is slower than the network is called with the newest value. Older undelivered values are
///   skipped.
/// - A failure does not end the observation. It means that the query could not be answered; it does not mean that
///   the target is unreachable. Handlers and ``NetworkUpdates/results`` get it as a result, and a sequence of values
///   skips it. It is delivered once for as long as evaluations fail in the same way. The next value means that they
///   succeed again. The monitor tries again after 1 s, and then less and less often: kernel queries at least every 30
///   s, a resolver that cannot run at least every 60 s.
/// - After ``cancel()`` or ``end()`` has returned, no call begins and none is running. The exception is
///   ``cancel()`` inside of another handler: see there.
///
/// All observations of a source share one thread, which ends with the last of them, and one socket for the kernel's
/// notifications. An idle observation costs only memory.
public final class NetworkObservation<Value: Sendable>: Sendable {
    private let sink: ObservationSink<Value>
    private let monitor: SharedMonitor
    /// The registrations.
    ///
    /// Nearly all observations have only one, which needs no array.
    private let first: MonitorState.ID?
    private let others: [MonitorState.ID]

    /// Registers queries with the monitor, then evaluates them on the calling thread, except names.
    ///
    /// In this order no change is lost: the monitor evaluates again as soon as the observation begins.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - sink: Where their results go.
    ///   - monitor: The monitor.
    ///   - begun: Set to this observation before any result is delivered.
    ///   - deadline: When the observation expires; `nil` for never.
    /// - Throws: `ReachabilityError` if the monitor cannot run; nothing is registered then.
    init(
        _ queries: [NetworkQuery<Value>],
        _ sink: ObservationSink<Value>,
        _ monitor: SharedMonitor,
        _ begun: WeakObservation<Value>? = nil,
        until deadline: MonitorInstant? = nil
    ) throws(ReachabilityError) {
        let registrations = try queries.map { (_) throws(ReachabilityError) in try monitor.join() }
        self.sink = sink
        self.monitor = monitor
        first = registrations.first?.id
        others = registrations.dropFirst().map(\.id)
        if let begun {
            begun.observation = self
            sink.hold()
        }
        sink.offerFirst(of: queries, monitor)
        for (index, (query, registration)) in zip(queries, registrations).enumerated() {
            let observation = QueryObservation(query.query, sink, index)
            registration.mailbox.post(.add(registration.id, observation, deadline))
        }
        if begun != nil { sink.release() }
    }

    deinit {
        close(waits: false)
    }

    /// The latest value; `nil` before the first value, after the end, and if many queries are observed.
    ///
    /// It can be newer than the value of the last call of a slow handler. It is kept while evaluations fail. The
    /// value of an address, a path or a connection is known as soon as the observation has begun.
    public var current: Value? {
        sink.answered
    }

    /// Ends the observation and releases its handler: no call follows after this returns.
    ///
    /// It blocks the thread while a call is running, so do not hold a lock that the handler takes. Asynchronous
    /// functions call ``end()`` instead. Inside of a handler of any observation it does not wait, because it could
    /// wait for itself: a call on another thread can then still be running, or begin, after it has returned.
    /// Releasing the observation also ends it, without waiting.
    public func cancel() {
        close(waits: true)
    }

    /// Ends the observation as ``cancel()`` does, but suspends the task while a call is running.
    ///
    /// ```swift
    /// await observation?.end()
    /// pool.closeIdleConnections()    // which the handler uses
    /// ```
    ///
    /// It waits for the call even if the task is cancelled. A handler must not wait for a task that waits here for
    /// that handler.
    nonisolated(nonsending) public func end() async {
        if await sink.close() { leave() }
    }

    func close(waits: Bool) {
        if sink.close(waits: waits) { leave() }
    }

    private func leave() {
        if let first { monitor.leave(first) }
        for id in others { monitor.leave(id) }
    }
}

/// An observation whatever its values.
package protocol EndableObservation: AnyObject, Sendable {
    /// See ``NetworkObservation/cancel()``.
    func cancel()
}

extension NetworkObservation: EndableObservation {}

/// A weak reference to an observation, through which its handler can end it.
final class WeakObservation<Value: Sendable>: Sendable {
    private struct Place {
        weak var observation: NetworkObservation<Value>?
    }

    private let place = Locked(Place())

    /// `nil` before the observation has begun, and after it was released.
    var observation: NetworkObservation<Value>? {
        get { place.withLock { $0.observation } }
        set { place.withLock { $0.observation = newValue } }
    }
}

extension NetworkObservation: CustomDebugStringConvertible {
    /// The latest value: `NetworkObservation(-R -------)`.
    public var debugDescription: String {
        "NetworkObservation(\(sink.allWords.joined(separator: ", ")))"
    }
}

extension ObservationSink {
    /// Evaluates queries in batches and offers their first results.
    ///
    /// Skips queries with names and event queries.
    fileprivate func offerFirst(of queries: [NetworkQuery<Value>], _ monitor: SharedMonitor) {
        let evaluated = queries.indices.filter {
            queries[$0].query.namedTarget == nil && !queries[$0].query.isEvent
        }
        monitor.facts.evaluate(evaluated.count) { (place, known) throws(Interruption) in
            let index = evaluated[place]
            return try queries[index].query.evaluate(for: self, index, &known, onlyChanges: false)
        } take: { place, outcome, _ in
            let isChange = outcome.answer?.isChange == true
            monitor.trace?(NetworkTrace(trace(evaluated[place]), .beginning, isChange: isChange))
        }
    }
}

extension NetworkSource {
    /// The queue or thread on which a handler is called.
    public enum Delivery: Sendable {
        /// On a dispatch queue.
        case queue(DispatchQueue)
        /// On the monitor's thread, right after the evaluation: no other thread has to wake.
        ///
        /// For handlers that only pass the value on: store it, write to a descriptor, signal a semaphore. All
        /// observations of a ``NetworkSource`` share the thread. While a handler runs, no other target is evaluated and
        /// no notification is read; after some time the kernel drops notifications, and everything is evaluated again.
        ///
        /// - The first call also comes on that thread, before or after the observation is returned.
        /// - A handler can begin, cancel and release observations. An observation that it begins calls its own
        ///   handler only after this call has returned. The exception: if no other observation was left, a new thread
        ///   begins, and the old one can still be in this call.
        /// - Synchronous queries work. A query about an address takes microseconds. A query about a name makes all
        ///   observations wait for the resolver.
        /// - A handler must not wait for anything that needs the monitor: another handler, an element of
        ///   ``NetworkUpdates``, ``NetworkReachability/waitUntilReachable(timeout:)``. Such a wait never ends.
        /// - All signals are blocked on the thread.
        case onMonitorThread

        /// The queue; `nil` for the monitor's thread.
        fileprivate var queue: DispatchQueue? {
            if case .queue(let queue) = self { queue } else { nil }
        }
    }

    /// The treatment of the current value when an observation begins.
    public enum InitialValue: Hashable, Sendable {
        /// The handler is called with the current value.
        case deliver
        /// The handler is called only with changes.
        case skip
    }

    /// Calls a handler with the current value of a query, and then whenever it changes.
    ///
    /// ```swift
    /// let observation = try NetworkSource.kernel.observe(.path()) { result in
    ///     if case .success(let path) = result { print(path) }
    /// }
    /// ```
    ///
    /// The observation ends when it is released: keep it. ``NetworkObservation`` describes the calls. The first call
    /// can come before this function has returned, so the handler cannot use the returned observation. To end the
    /// observation from its handler, pass a condition:
    ///
    /// ```swift
    /// observation = try source.observe(.flags(of: target)) { result in
    ///     if case .success(let flags) = result { print(flags) }
    /// } until: {
    ///     $0.isNetworkReachable
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - delivery: The queue or thread on which the handler is called.
    ///   - initial: The treatment of the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    ///   - condition: Returns whether the observation ends. Called after each call of the handler with a value, in
    ///     the same place. `nil` for an observation without such a condition.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ query: NetworkQuery<Value>,
        on delivery: Delivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<Value, ReachabilityError>) -> Void,
        until condition: (@Sendable (Value) -> Bool)? = nil
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        guard let condition else {
            return try observe([query], on: delivery, initial: initial) { handler($1) }
        }
        let begun = WeakObservation<Value>()
        return try observe([query], on: delivery, initial: initial, begun) { _, result in
            // The observation was released meanwhile, which ended it.
            guard let observation = begun.observation else { return }
            handler(result)
            if let value = result.answer, condition(value) { observation.cancel() }
        }
    }

    /// Calls a handler with the current values of many queries, and then whenever one of them changes.
    ///
    /// ```swift
    /// let queries = peers.map { NetworkQuery.flags(of: .address($0)) }
    /// let observation = try source.observe(queries) { index, result in
    ///     print(peers[index], (try? result.get())?.letters ?? "unknown")
    /// }
    /// ```
    ///
    /// There is one call for each change of each query, and calls never overlap. The statements of
    /// ``NetworkObservation`` about values hold for each query.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - delivery: The queue or thread on which the handler is called.
    ///   - initial: The treatment of the current values.
    ///   - handler: Called with the index of a query, and its value or the reason that there is none.
    /// - Returns: One observation of all queries.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ queries: [NetworkQuery<Value>],
        on delivery: Delivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (_ index: Int, _ result: Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try observe(queries, on: delivery, initial: initial, nil, handler)
    }

    private func observe<Value>(
        _ queries: [NetworkQuery<Value>],
        on delivery: Delivery,
        initial: InitialValue,
        _ begun: WeakObservation<Value>?,
        _ handler: @escaping ObservationSink<Value>.Handler
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        let selection = ObservationSink<Value>.Selection(skipsFirst: initial == .skip)
        let sink = ObservationSink(
            queries.map(\.query), .handler(handler, delivery.queue), selection, work: monitor.work)
        return try NetworkObservation(queries, sink, monitor, begun)
    }

    /// Calls a handler on the main actor with the current value of a query, and then whenever it changes.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - actor: The main actor.
    ///   - initial: The treatment of the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ query: NetworkQuery<Value>,
        on actor: MainActor.Type,
        initial: InitialValue = .deliver,
        _ handler: @escaping @MainActor (Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try observe(query, on: .queue(.main), initial: initial) { result in
            MainActor.assumeIsolated { handler(result) }
        }
    }

    /// Makes the monitor evaluate everything again, as after a change of the network.
    ///
    /// Call it after changes that the kernel does not notify of, such as new costs of a ``NetworkMetering``.
    public func evaluateAgain() {
        monitor.evaluateAll()
    }
}
