// SPDX-License-Identifier: Apache-2.0

extension ConnectionQuery: ObservableQuery {
    static let evaluation = QueryEvaluation(QueryKind(ConnectionQuery.self))
}

extension NetworkQuery<ConnectionStatus> {
    /// What becomes of a connection.
    ///
    /// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
    ///
    /// - Parameter connection: The connection; end the observation when its socket is closed.
    /// - Returns: The query.
    public static func status(of connection: NetworkConnection) -> Self {
        Self(ConnectionQuery(connection: connection))
    }
}
