// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// The addresses of a host that packets can leave for, in the order to try them, now and after each change: what a
/// name resolver of gRPC delivers to a load balancer.
///
/// ```swift
/// for try await addresses in ReachableEndpoints(host: "db.example", source: .kernel) {
///     balancer.update(addresses.map { .ipv4OrIPv6($0, port: 5432) })
/// }
/// ```
///
/// It is resolved again when the network changes, or the reachability of the name. An empty list means that no address
/// can be reached now.
public struct ReachableEndpoints: AsyncSequence, Sendable {
    /// A list that differs from the one before.
    public typealias Element = [IPAddress]

    private let host: String
    private let source: NetworkSource
    private let options: ReachabilityOptions

    /// Creates the sequence; each iteration is independent.
    public init(host: String, source: NetworkSource, options: ReachabilityOptions = ReachabilityOptions()) {
        (self.host, self.source, self.options) = (host, source, options)
    }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator { Iterator(endpoints: self) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let endpoints: ReachableEndpoints
        /// The last order, and what was delivered of it.
        private var known: (ordered: [OrderedAddress], delivered: [IPAddress])?

        fileprivate init(endpoints: ReachableEndpoints) {
            self.endpoints = endpoints
        }

        /// Waits for another list.
        ///
        /// - Throws: `ReachabilityError` if the addresses could not be ordered or followed, and `CancellationError`.
        public mutating func next() async throws -> [IPAddress]? {
            while true {
                if let known { try await endpoints.waitForChange(of: known.ordered) }
                let ordered = try await endpoints.source.ordered(
                    ReachabilityTarget.host(endpoints.host), options: endpoints.options)
                let reachable = ordered.filter(\.isReachable).map(\.address)
                let isNew = known?.delivered != reachable
                known = (ordered, reachable)
                if isNew { return reachable }
            }
        }
    }

    /// Returns once the answer about one of the addresses differs from that of the list, or the name's does.
    private func waitForChange(of ordered: [OrderedAddress]) async throws {
        let (options, source) = (options, source)
        let name = try NetworkReachability(host: host, options: options, source: source)
        let isReachable = ordered.contains(where: \.isReachable)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await name.updates.first { $0.isNetworkReachable != isReachable } }
            let queries = ordered.map { entry in
                NetworkQuery.reports(
                    on: .address(entry.address), options: options, .full, onChangeOf: .report)
            }
            group.addTask {
                _ = try await source.updates(of: queries).first { $0.value.differs(from: ordered[$0.index]) }
            }
            try await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}

extension ReachabilityReport {
    fileprivate func differs(from entry: OrderedAddress) -> Bool {
        flags != entry.flags || interface != entry.interface || gateway != entry.gateway
            || sourceAddress != entry.sourceAddress
    }
}
