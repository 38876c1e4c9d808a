// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Each query can be asked in four ways: alone or with others, and with the task suspended or the thread blocked while
// names are resolved.
extension NetworkSource {
    /// Asks a query, without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel
    /// let path = try await source.value(of: .path())
    /// let addresses = try await source.value(of: .order(of: .host("example.com")))
    /// ```
    ///
    /// The value is the one that an observation of the query begins with. The kernel is asked in place, on the caller's
    /// actor: that takes microseconds, less than changing threads. The task is suspended while a name is resolved, and
    /// holds no thread while it waits for one of the 64 lookups that can run at the same time.
    ///
    /// - Parameter query: The query.
    /// - Returns: Its value now.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no; with the code
    ///   `ReachabilityError.Code.noCurrentValue` for ``NetworkQuery/events``. `CancellationError` if the task is
    ///   cancelled while a name is resolved. It throws at once then; a lookup that has begun occupies its thread until
    ///   the resolver returns.
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
    /// Each result is that of ``value(of:)``: a query that fails does not hide the others. The queries go to the kernel
    /// together, up to 64 in a datagram, which costs less than one query after the other. The kernel answers them one
    /// by one: the routes can change in between. The task is suspended while the names are resolved, side by side.
    ///
    /// - Parameter queries: The queries; none have no results.
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
        // Only a cancelled task leaves one without a result.
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
    /// It takes queries to the kernel, which are answered in microseconds. A name is waited for at most for
    /// ``ReachabilityOptions/Resolution/timeout``. Asynchronous functions call ``value(of:)``.
    ///
    /// - Parameter query: The query.
    /// - Returns: Its value now.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no; with the code
    ///   `ReachabilityError.Code.noCurrentValue` for ``NetworkQuery/events``.
    public func blockingValue<Value>(of query: NetworkQuery<Value>) throws(ReachabilityError) -> Value {
        try query.query.answer(from: facts, nil)
    }

    /// Asks many queries together, and blocks the thread while names are resolved, side by side.
    ///
    /// ```swift
    /// let results = NetworkSource.kernel.blockingValues(of: peers.map { .flags(of: .address($0)) })
    /// let unreachable = zip(peers, results).filter { (try? $1.get())?.isNetworkReachable == false }.map(\.0)
    /// ```
    ///
    /// The results are those of ``values(of:)``.
    ///
    /// - Parameter queries: The queries; none have no results.
    /// - Returns: The value of each query or the reason that there is none, in the order of the queries.
    public func blockingValues<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> [Result<Value, ReachabilityError>] {
        queries.first?.query.answers(to: queries, from: facts, [:]) ?? []
    }
}
