// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NetlinkReachability

/// An `HTTPClient` that is replaced when the path to its server changes.
///
/// AsyncHTTPClient keeps idle connections for a minute, also those that were made over an uplink which is gone, and the
/// next request waits for such a connection until its timeout. There is no way to close them but with their client: the
/// next one has none.
public actor FreshHTTPClient {
    private let configuration: HTTPClient.Configuration
    private var client: HTTPClient
    /// How often the client was replaced.
    public private(set) var replacementCount = 0

    /// Creates the first client.
    ///
    /// - Parameter configuration: The configuration of each client.
    public init(configuration: HTTPClient.Configuration = HTTPClient.Configuration()) {
        self.configuration = configuration
        client = HTTPClient(configuration: configuration)
    }

    /// The client for the next request.
    public var current: HTTPClient { client }

    /// Follows the path to a server; runs until its task is cancelled.
    ///
    /// Connections that have another source address than new ones would have are not used any more. Requests in flight
    /// end with their client, after a grace period of their own.
    ///
    /// - Parameter server: The server.
    /// - Throws: `ReachabilityError` if the server cannot be monitored.
    public func run(following server: NetworkReachability) async throws {
        var last: IPAddress?
        for try await report in server.source.updates(of: server.reportQuery(.full, onChangeOf: .report)) {
            guard report.isReachable, let source = report.sourceAddress else { continue }
            if let last, last != source { replace() }
            last = source
        }
    }

    private func replace() {
        let old = client
        client = HTTPClient(configuration: configuration)
        replacementCount += 1
        Task { try await old.shutdown() }
    }

    /// Ends the present client.
    ///
    /// - Throws: The error of its shutdown.
    public func shutdown() async throws {
        try await client.shutdown()
    }
}
