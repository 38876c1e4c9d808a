// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NIOPosix
public import NetlinkReachability

/// A resolver for `ClientBootstrap.resolver(_:)` that answers with the addresses that packets can leave for, in the
/// order to try them.
///
/// NIO's happy eyeballs then begin with an address that can work, and wait for none that cannot. NIO expects the order
/// of RFC 6724 from a resolver. It tries IPv6 before IPv4 itself.
///
/// ```swift
/// let source = NetworkSource.kernel
/// let bootstrap = ClientBootstrap(group: group)
///     .resolver(ReachableResolver(source: source, on: group.next()))
/// let channel = try await bootstrap.connect(host: "example.com", port: 443).get()
/// ```
///
/// Names are resolved by the source: `NetworkSource.resolving(with:)` makes one with another resolver.
public struct ReachableResolver: Resolver, Sendable {
    /// No address of a family can be reached.
    public struct NoReachableAddress: Error, CustomStringConvertible {
        /// The name, and the reason of each address.
        public let description: String
    }

    private let source: NetworkSource
    private let options: ReachabilityOptions
    private let eventLoop: any EventLoop

    /// Creates a resolver, for any number of connections.
    ///
    /// - Parameters:
    ///   - source: The network, and the resolver of its names.
    ///   - options: The sockets of the bootstrap: their interface, mark or local address.
    ///   - eventLoop: The event loop of the results.
    public init(
        source: NetworkSource,
        options: ReachabilityOptions = ReachabilityOptions(),
        on eventLoop: any EventLoop
    ) {
        (self.source, self.options, self.eventLoop) = (source, options, eventLoop)
    }

    /// Answers with the IPv4 addresses of a host.
    public func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(of: host, port, .v4)
    }

    /// Answers with the IPv6 addresses of a host.
    public func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(of: host, port, .v6)
    }

    /// Does nothing: the queries of a connection end by the options' time limit.
    public func cancelQueries() {}

    private func addresses(
        of host: String,
        _ port: Int,
        _ family: ReachabilityOptions.Families
    ) -> EventLoopFuture<[SocketAddress]> {
        eventLoop.makeFutureWithTask { [source, options] in
            var options = options
            options.families = options.families.intersection(family)
            let ordered = try await source.value(
                of: .order(of: ReachabilityTarget.host(host), options: options))
            let reachable = ordered.filter(\.isReachable)
            guard !reachable.isEmpty else {
                let reasons = ordered.map { "\($0.address): \($0.reason)" }
                throw NoReachableAddress(description: "\(host): \(reasons.joined(separator: "; "))")
            }
            return try reachable.map { entry in
                try SocketAddress(packedIPAddress: ByteBuffer(bytes: entry.address.networkBytes), port: port)
            }
        }
    }
}
