// SPDX-License-Identifier: Apache-2.0

extension NetworkSource {
    /// Asks what becomes of a connection.
    ///
    /// It takes two questions to the kernel, which go there together, and blocks for microseconds.
    ///
    /// - Parameter connection: The connection; it need not exist any more.
    /// - Returns: The status.
    /// - Throws: ``ReachabilityError`` if the question could not be answered, which is not the same as lost.
    public func status(of connection: NetworkConnection) throws(ReachabilityError) -> ConnectionStatus {
        try ConnectionQuestion(connection: connection).answer(from: facts)
    }

    /// What becomes of a connection as a sequence: the current status, and then every change.
    ///
    /// ```swift
    /// for try await status in try NetworkSource.kernel().updates(of: connection) {
    ///     if status.state == .lost { break }
    /// }
    /// ```
    ///
    /// All connections, handles and path monitors of a source share one monitor. See
    /// ``NetworkReachability/Updates`` for failures and for the end.
    ///
    /// - Parameter connection: The connection; end the iteration when its socket is closed.
    /// - Returns: The sequence.
    public func updates(of connection: NetworkConnection) -> NetworkReachability.Updates<ConnectionStatus> {
        NetworkReachability.Updates(monitor: monitor, question: ConnectionQuestion(connection: connection))
    }
}
