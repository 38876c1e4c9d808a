// SPDX-License-Identifier: Apache-2.0

extension NetworkSource {
    /// Asks what becomes of a connection.
    ///
    /// Its queries go to the kernel together, and it blocks for microseconds. Asynchronous functions call it as they
    /// call `flags(of:)` of addresses: there is no name to wait for.
    ///
    /// - Parameter connection: The connection; it need not exist any more.
    /// - Returns: The status.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as lost.
    public func status(of connection: NetworkConnection) throws(ReachabilityError) -> ConnectionStatus {
        try NetworkQuery.status(of: connection).answer(from: facts)
    }

    /// Asks what becomes of many connections.
    ///
    /// ```swift
    /// let statuses = try NetworkSource.kernel.statuses(of: pool.map(\.connection))
    /// ```
    ///
    /// The queries go to the kernel together, up to 64 in a datagram. The kernel answers them one by one: the routes
    /// can change in between.
    ///
    /// - Parameter connections: The connections.
    /// - Returns: The statuses, in the order of the connections.
    /// - Throws: `ReachabilityError` if one of the queries could not be answered.
    public func statuses(
        of connections: some Collection<NetworkConnection>
    ) throws(ReachabilityError) -> [ConnectionStatus] {
        try results(of: connections).map { (result) throws(ReachabilityError) in try result.get() }
    }

    /// The status of each connection, or the reason that it has none.
    package func results(
        of connections: some Collection<NetworkConnection>
    ) -> [Result<ConnectionStatus, ReachabilityError>] {
        var results: [Result<ConnectionStatus, ReachabilityError>] = []
        results.reserveCapacity(connections.count)
        facts.evaluate(connections) { connection, batch in
            ConnectionQuery(connection: connection).plan(&batch)
        } take: { connection, batch, targets in
            results.append(
                Result { () throws(ReachabilityError) in
                    try ConnectionQuery(connection: connection).answer(from: &batch, targets)
                })
        }
        return results
    }
}
