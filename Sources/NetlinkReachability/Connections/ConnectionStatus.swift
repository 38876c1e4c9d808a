// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What becomes of a connection's packets at one moment, as this host's routes and addresses decide it.
///
/// It cannot know whether the other end still has the connection, nor what a firewall drops.
///
/// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
public struct ConnectionStatus: Hashable, Sendable {
    /// What becomes of the packets.
    public enum State: String, Hashable, Sendable, CaseIterable, Codable {
        /// The packets leave: keep the connection.
        case viable
        /// The packets do not leave now, or no answer arrives because the interface of the local address is down.
        ///
        /// The local address is still there: TCP repeats the packets, and the connection continues when they leave
        /// again. Reconnect if that takes longer than the program can wait.
        case waiting
        /// The local address or the interface of the socket is gone, so no answer arrives: reconnect. TCP itself would
        /// give up after a quarter of an hour (the sysctl `net.ipv4.tcp_retries2`).
        case lost
        /// The other end is this host: keep the connection.
        case local
    }

    /// The path that a new connection to the same remote address would take.
    public struct Path: Hashable, Sendable, Codable {
        /// The interface; `nil` if it went away meanwhile.
        public let interface: NetworkInterface?
        /// The gateway; `nil` if there is none.
        public let gateway: IPAddress?
        /// The source address; `nil` if it is unknown.
        public let sourceAddress: IPAddress?
    }

    /// What becomes of the packets.
    public internal(set) var state: State
    /// Why.
    public internal(set) var reason: ReachabilityReason
    /// The interface that the packets leave through, or would; `nil` if there is none.
    public let interface: NetworkInterface?
    /// The gateway that the packets are sent to; `nil` if there is none.
    public let gateway: IPAddress?
    /// The path that a new connection would take, if it is another one; `nil` if there is no better path.
    ///
    /// For a viable connection: a new one would have another interface or source address, the flags of its path are at
    /// least as good, and the path of this connection is not selected any more. An equal path beside it (ECMP) is not
    /// better. A socket that was bound to an address which the kernel does not select has a better path all the time.
    ///
    /// For a connection that waits or is lost: a new connection can send now.
    public internal(set) var betterPath: Path? {
        get { boxedPath?.value }
        set { boxedPath = newValue.map(Box.init) }
    }

    /// On the heap: most connections have none, and a monitor keeps three statuses of each.
    private var boxedPath: Box<Path>?

    /// Whether the packets leave: the state is ``State/viable`` or ``State/local``.
    public var isViable: Bool { state == .viable || state == .local }
    /// Whether a new connection would take a better path.
    public var hasBetterPath: Bool { betterPath != nil }
}

extension ConnectionStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case state, reason, interface, gateway
        case boxedPath = "betterPath"
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// One line: the state, whether there is a better path, and the reason.
    public var description: String {
        "\(state)\(hasBetterPath ? ", better path" : ""): \(reason)"
    }
}
