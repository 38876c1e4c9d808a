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
/// It is evaluated again when the network changes, and the name is resolved again as the monitor does. An empty list
/// means that no address can be reached now.
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
        private var orders: NetworkUpdates<[OrderedAddress]>.Iterator?
        private var delivered: [IPAddress]?

        fileprivate init(endpoints: ReachableEndpoints) {
            self.endpoints = endpoints
        }

        /// Waits for another list; `nil` after the task is cancelled.
        ///
        /// - Throws: `ReachabilityError` if the host is none, or the monitor cannot run.
        public mutating func next() async throws -> [IPAddress]? {
            var orders = try self.orders ?? endpoints.orders().makeAsyncIterator()
            defer { self.orders = orders }
            while let order = try await orders.next() {
                let reachable = order.filter(\.isReachable).map(\.address)
                guard reachable != delivered else { continue }
                delivered = reachable
                return reachable
            }
            return nil
        }
    }

    private func orders() throws -> NetworkUpdates<[OrderedAddress]> {
        source.updates(of: .order(of: try ReachabilityTarget.host(host), options: options))
    }
}
