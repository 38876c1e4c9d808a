// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// Lets a request begin while it has a path, and ends it when its connection is lost or nothing answers.
///
/// A client that waits for a timeout instead, such as `HTTPClient.shared` with its 90 s, fails late. The request reads
/// the body of its response, too:
///
/// ```swift
/// let body = try await NetworkGate()(to: "api.example") {
///     try await HTTPClient.shared.execute(request, timeout: .seconds(30)).body.collect(upTo: 1 << 20)
/// }
/// ```
///
/// It does not know the socket of the request, and follows a connection from the source address that a new one gets.
public struct NetworkGate: Sendable {
    /// Why a request was refused or ended, apart from a `ReachabilityError` with the code `timedOut`: no path.
    public enum Refusal: Error {
        case expensive
        case lost(ReachabilityReason)
        case silent(NetworkEvidence)
    }

    /// The network that answers.
    public var source = NetworkSource.kernel
    /// How long a request waits for a path, and for one that it has lost; with zero it fails at once.
    public var patience = Duration.zero
    /// Whether a request may take an expensive path.
    public var allowsExpensive = true

    /// Creates a gate that waits for nothing and refuses no cost.
    public init() {}

    /// Performs a request to a host.
    ///
    /// - Throws: The error of the request; ``Refusal``, once the cancelled request has ended; `ReachabilityError` with
    ///   the code `timedOut` and the reason if there is no path, or with another code if that is not known.
    public func callAsFunction<Response: Sendable>(
        to host: String, _ request: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        let target = try ReachabilityTarget.host(host)
        let report = try await source.wait(for: .report(of: target, .full), timeout: patience) {
            $0.isReachable
        }
        if !allowsExpensive {
            let isExpensive = try await source.value(of: .path()).isExpensive
            if isExpensive || report.flags.contains(.isWWAN) { throw Refusal.expensive }
        }
        return try await withThrowingTaskGroup(of: Response.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: request)
            if let local = report.sourceAddress, let remote = report.address {
                let connection = try NetworkConnection(
                    transport: .tcp, local: local, localPort: 0, remote: remote, remotePort: 0)
                group.addTask { throw Refusal.lost(try await loss(of: connection)) }
            }
            group.addTask {
                throw Refusal.silent(try await source.wait(for: .evidence(of: target)) { $0.isSilent })
            }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    /// Waits until a connection is lost, or has waited for as long as ``patience``.
    private func loss(of connection: NetworkConnection) async throws -> ReachabilityReason {
        let query = NetworkQuery.status(of: connection)
        while true {
            let status = try await source.wait(for: query) { !$0.isViable }
            do {
                let next = try await source.wait(for: query, timeout: patience) { $0.state != .waiting }
                if !next.isViable { return next.reason }
            } catch let error as ReachabilityError where error.code == .timedOut {
                return status.reason
            }
        }
    }
}
