// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Four ways to ask a query: alone or with others, and with the task suspended or the thread blocked while names are
// resolved.
extension NetworkSource {
    /// Asks a query, without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel
    /// let path = try await source.value(of: .path())
    /// let addresses = try await source.value(of: .order(of: .host("example.com")))
    /// ```
    ///
    /// The value is the first value of an observation of the query. The caller's thread asks the kernel itself, on
    /// the caller's actor: that takes microseconds, less than changing threads. While a name is resolved, the task is
    /// suspended. It holds no thread while it waits for one of the 64 lookups that can run at the same time.
    ///
    /// - Parameter query: The query.
    /// - Returns: The present value.
    /// - Throws: `ReachabilityError` if the query could not be answered. A negative answer, such as "not
    ///   reachable", is a value and not an error. The code is `ReachabilityError.Code.noCurrentValue` for
    ///   ``NetworkQuery/events``. `CancellationError`, at once, if the task is cancelled while a name is resolved. A
    ///   lookup that has begun then occupies its thread until the resolver returns.
    nonisolated(nonsending) public func value<Value>(of query: NetworkQuery<Value>) async throws -> Value {
        var resolution: ResolvedName?
        if let name = query.query.namedTarget?.name { resolution = try await facts.resolver.resolved(name) }
        return try query.query.answer(from: facts, resolution)
    }

    /// Asks many queries together, without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let queries = peers.map { NetworkQuery.flags(of: .address($0)) }
    /// let results = try await NetworkSource.kernel.values(of: queries)
    /// for (peer, result) in zip(peers, results) { print(peer, (try? result.get())?.letters ?? "unknown") }
    /// ```
    ///
    /// Each result is that of ``value(of:)``: a query that fails does not affect the others. The queries go to the
    /// kernel together, up to 64 in a datagram, which costs less than one query after the other. The kernel answers
    /// them one by one, so routes can change in between. Names are resolved concurrently, and the task is suspended
    /// meanwhile.
    ///
    /// - Parameter queries: The queries. Without queries there are no results.
    /// - Returns: The value of each query or the reason that there is none, in the order of the queries.
    /// - Throws: `CancellationError` if the task is cancelled while names are resolved.
    nonisolated(nonsending) public func values<Value>(
        of queries: [NetworkQuery<Value>]
    ) async throws(CancellationError) -> [Result<Value, ReachabilityError>] {
        let names = Set(queries.compactMap { $0.query.namedTarget?.name })
        guard !names.isEmpty else { return blockingValues(of: queries) }
        let resolver = facts.resolver
        let resolutions = await withTaskGroup(of: (NameQuery, ResolvedName?).self) { group in
            for name in names { group.addTask { (name, try? await resolver.resolved(name)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        // Only a cancelled task leaves a name without a result.
        guard resolutions.count == names.count else { throw CancellationError() }
        return queries.first?.query.answers(to: queries, from: facts, resolutions) ?? []
    }

    /// Asks a query, and blocks the thread while a name is resolved.
    ///
    /// ```swift
    /// let path = try NetworkSource.kernel.blockingValue(of: .path())
    /// print(path.status == .satisfied ? "online" : "offline", path.availableInterfaces.map(\.name))
    /// ```
    ///
    /// The kernel answers the queries in microseconds. A name takes at most
    /// ``ReachabilityOptions/Resolution/timeout``. Asynchronous functions call ``value(of:)``.
    ///
    /// - Parameter query: The query.
    /// - Returns: The present value.
    /// - Throws: `ReachabilityError` if the query could not be answered. A negative answer, such as "not
    ///   reachable", is a value and not an error. The code is `ReachabilityError.Code.noCurrentValue` for
    ///   ``NetworkQuery/events``.
    public func blockingValue<Value>(of query: NetworkQuery<Value>) throws(ReachabilityError) -> Value {
        try query.query.answer(from: facts, nil)
    }

    /// Asks many queries together.
    ///
    /// Names are resolved concurrently, and the thread is blocked meanwhile.
    ///
    /// ```swift
    /// let results = NetworkSource.kernel.blockingValues(of: peers.map { .flags(of: .address($0)) })
    /// let unreachable = zip(peers, results).filter { (try? $1.get())?.isNetworkReachable == false }.map(\.0)
    /// ```
    ///
    /// The results are those of ``values(of:)``.
    ///
    /// - Parameter queries: The queries. Without queries there are no results.
    /// - Returns: The value of each query or the reason that there is none, in the order of the queries.
    public func blockingValues<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> [Result<Value, ReachabilityError>] {
        queries.first?.query.answers(to: queries, from: facts, [:]) ?? []
    }
}
