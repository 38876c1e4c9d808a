// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NetlinkReachability

/// What becomes of a channel, as events of its pipeline: the names are those of `NIOTSNetworkEvents`.
public enum ConnectionEvents {
    /// Whether packets of the channel leave has changed.
    public struct ViabilityUpdate: Hashable, Sendable {
        /// Whether they leave.
        public let isViable: Bool
    }

    /// A new connection would take a better path.
    public struct BetterPathAvailable: Hashable, Sendable {}

    /// The present path is the best one again.
    public struct BetterPathUnavailable: Hashable, Sendable {}

    /// The channel cannot become viable again: its local address or its interface is gone.
    public struct ConnectionLost: Error, Hashable, Sendable {
        /// Why.
        public let reason: ReachabilityReason
    }
}

/// Fires ``ConnectionEvents`` for a connected channel, and `ConnectionLost` as an error.
///
/// A handler behind it that closes channels on errors closes a lost one at once, where TCP would repeat its packets for
/// a quarter of an hour.
public final class ConnectionEventsHandler: ChannelInboundHandler, RemovableChannelHandler {
    /// Data passes through.
    public typealias InboundIn = NIOAny

    private let source: NetworkSource
    private let options: ReachabilityOptions
    private var observation: NetworkObservation<ConnectionStatus>?
    private var last: ConnectionStatus?

    /// Creates a handler for one channel.
    ///
    /// - Parameters:
    ///   - options: The interface and mark that the channel's bootstrap has set, if any.
    ///   - source: The network that answers.
    public init(options: ReachabilityOptions = ReachabilityOptions(), source: NetworkSource = .kernel) {
        self.options = options
        self.source = source
    }

    /// Follows the channel, if it is connected already.
    public func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    /// Follows the channel.
    public func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    /// Ends with the channel.
    public func channelInactive(context: ChannelHandlerContext) {
        observation = nil
        context.fireChannelInactive()
    }

    /// Ends with the handler.
    public func handlerRemoved(context: ChannelHandlerContext) {
        observation = nil
    }

    private func start(_ context: ChannelHandlerContext) {
        guard observation == nil, let local = context.localAddress, let remote = context.remoteAddress else {
            return
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        do {
            let connection = try NetworkConnection(local: local, remote: remote, options: options)
            observation = try source.observe(.status(of: connection)) {
                [eventLoop = context.eventLoop] result in
                eventLoop.execute {
                    let (handler, context) = bound.value
                    handler.take(result, context)
                }
            }
        } catch {
            // Without an observation the channel works as it would without this handler.
            context.fireErrorCaught(error)
        }
    }

    private func take(_ result: Result<ConnectionStatus, ReachabilityError>, _ context: ChannelHandlerContext)
    {
        guard observation != nil, case .success(let status) = result else { return }
        let old = last
        last = status
        if status.isViable != old?.isViable ?? true {
            context.fireUserInboundEventTriggered(ConnectionEvents.ViabilityUpdate(isViable: status.isViable))
        }
        if status.hasBetterPath != old?.hasBetterPath ?? false {
            let event: any Sendable =
                status.hasBetterPath
                ? ConnectionEvents.BetterPathAvailable() : ConnectionEvents.BetterPathUnavailable()
            context.fireUserInboundEventTriggered(event)
        }
        if status.state == .lost, old?.state != .lost {
            context.fireErrorCaught(ConnectionEvents.ConnectionLost(reason: status.reason))
        }
    }
}

extension NetworkConnection {
    /// The TCP connection between two socket addresses.
    ///
    /// - Parameters:
    ///   - local: The address of this end.
    ///   - remote: The address of the other end.
    ///   - options: The interface and mark of the socket.
    /// - Throws: `ReachabilityError` if they are no IP addresses.
    public init(local: SocketAddress, remote: SocketAddress, options: ReachabilityOptions) throws {
        try self.init(
            transport: .tcp,
            local: Self.address(local),
            localPort: UInt16(local.port ?? 0),
            remote: Self.address(remote),
            remotePort: UInt16(remote.port ?? 0),
            options: options
        )
    }

    private static func address(_ address: SocketAddress) throws -> IPAddress {
        try address.withSockAddr { pointer, length in
            try IPAddress(sockaddr: pointer, length: UInt32(length))
        }
    }
}
