// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// What happens to the current value at the beginning of an observation.
public enum InitialValue: Hashable, Sendable {
    /// The handler is called with it.
    case deliver
    /// The handler is called with changes only.
    case skip
}

extension NetworkSource {
    /// Calls a handler with the current value of a query, and then whenever it changes.
    ///
    /// ```swift
    /// let observation = try NetworkSource.kernel.observe(.path()) { result in
    ///     if case .success(let path) = result { print(path) }
    /// }
    /// ```
    ///
    /// The observation ends when it is released: keep it. See ``NetworkObservation`` for what holds for the calls.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ query: NetworkQuery<Value>,
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try observe([query], on: delivery, initial: initial) { handler($1) }
    }

    /// Calls a handler that can end its observation with the current value of a query, and then whenever it changes.
    ///
    /// ```swift
    /// let observation = try NetworkSource.kernel.observe(.path()) { observation, result in
    ///     guard case .success(let path) = result, path.status == .satisfied else { return }
    ///     observation.cancel()
    ///     print("online: \(path)")
    /// }
    /// ```
    ///
    /// The first call can come before this function has returned, so that the handler cannot use what it returns. The
    /// observation also ends when it is released: the handler does not keep it.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the observation, and the value or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ query: NetworkQuery<Value>,
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler:
            @escaping @Sendable (
                _ observation: NetworkObservation<Value>, _ result: Result<Value, ReachabilityError>
            ) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        let begun = WeakObservation<Value>()
        return try observe([query], on: delivery, initial: initial, begun) { _, result in
            // Released meanwhile, it has ended.
            if let observation = begun.observation { handler(observation, result) }
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
    /// There is one call for each change of each query. What ``NetworkObservation`` says about values holds for each
    /// query; calls come one after the other.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current values.
    ///   - handler: Called with the index of a query, and its value or the reason that there is none.
    /// - Returns: The observation of all of them.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ queries: [NetworkQuery<Value>],
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (_ index: Int, _ result: Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try observe(queries, on: delivery, initial: initial, nil, handler)
    }

    private func observe<Value>(
        _ queries: [NetworkQuery<Value>],
        on delivery: CallbackDelivery,
        initial: InitialValue,
        _ begun: WeakObservation<Value>?,
        _ handler: @escaping ObservationSink<Value>.Handler
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        let selection = ObservationSink<Value>.Selection(skipsFirst: initial == .skip)
        let sink = ObservationSink(
            queries.map(\.observed), .handler(handler, delivery), selection, work: monitor.work)
        return try NetworkObservation(queries, sink, monitor, begun)
    }

    /// Calls a handler on the main actor with the current value of a query, and then whenever it changes.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - actor: The main actor.
    ///   - initial: What happens to the current value.
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

    /// A query as a sequence: the current value, and then every change.
    ///
    /// ```swift
    /// for try await event in NetworkSource.kernel.updates(of: .events) {
    ///     if case .slept(let duration) = event, duration > .seconds(60) { pool.closeIdleConnections() }
    /// }
    /// ```
    ///
    /// - Parameter query: The query.
    /// - Returns: The sequence.
    public func updates<Value>(of query: NetworkQuery<Value>) -> NetworkUpdates<Value> {
        NetworkUpdates([query], monitor)
    }

    /// Many queries as one sequence: the current value of each, and then every change, with the index of its query.
    ///
    /// A failure of one query ends the sequence, unless it is ``NetworkUpdates/skippingFailures``.
    ///
    /// - Parameter queries: The queries.
    /// - Returns: The sequence.
    public func updates<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> NetworkUpdates<(index: Int, value: Value)> {
        NetworkUpdates(queries.enumerated().map { NetworkQuery($1, index: $0) }, monitor)
    }

    /// Has everything that is observed evaluated again, as after a change of the network.
    ///
    /// For what the kernel does not notify of, such as new costs of a ``NetworkMetering``.
    public func evaluateAgain() {
        monitor.evaluateAll()
    }
}
