// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The status of a connection at one moment, as this host's routes and addresses decide it.
///
/// It cannot know whether the other end still has the connection, nor what a firewall drops.
///
/// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
public struct ConnectionStatus: Hashable, Sendable {
    /// The state of the connection's packets.
    public enum State: String, Hashable, Sendable, CaseIterable, Codable {
        /// The packets leave: keep the connection.
        ///
        /// With the reason ``ReachabilityReason/Code/unknownReturnPath``, they leave through another interface than
        /// that of the local address, which cannot receive: whether answers arrive depends on the network. With
        /// ``ReachabilityReason/Code/answerDropped``, this host would drop answers after the next change of a route.
        case viable
        /// The packets do not leave now, or answers do not arrive: the loopback interface is down, or the remote
        /// address of a bound socket is also an address of this host.
        ///
        /// The local address still exists: TCP retransmits, and the connection continues when packets leave again.
        /// Reconnect if that takes longer than the program can wait.
        case waiting
        /// The local address or the interface of the socket was removed, so answers do not arrive: reconnect. TCP
        /// itself would give up after a quarter of an hour (the sysctl `net.ipv4.tcp_retries2`).
        case lost
        /// The other end is this host, and the loopback interface is up: keep the connection.
        case local
    }

    /// The path that a new connection to the same remote address would take.
    public struct Path: Hashable, Sendable, Codable {
        /// The interface; `nil` if it was removed meanwhile.
        public let interface: NetworkInterface?
        /// The gateway; `nil` if there is none.
        public let gateway: IPAddress?
        /// The source address; `nil` if it is unknown.
        public let sourceAddress: IPAddress?
    }

    /// The properties, and their names in JSON.
    struct Details: Hashable, Sendable, Codable {
        var state: State
        var reason: ReachabilityReason
        let interface: NetworkInterface?
        let gateway: IPAddress?
        /// Boxed, because most connections have no better path.
        var betterPath: Box<Path>?
        var subflows: [ConnectionStatus] = []
    }

    /// Boxed, because a monitor keeps three copies of the status of each connection.
    let details: Box<Details>

    init(_ details: Details) {
        self.details = Box(details)
    }

    /// The state of the connection's packets.
    public var state: State { details.value.state }
    /// Why the connection has this state.
    public var reason: ReachabilityReason { details.value.reason }
    /// The interface through which the packets leave, or would leave; `nil` if there is none.
    public var interface: NetworkInterface? { details.value.interface }
    /// The gateway that the packets are sent to; `nil` if there is none.
    public var gateway: IPAddress? { details.value.gateway }
    /// The path that a new connection would use, if that is better; `nil` if there is no better path.
    ///
    /// For a viable connection: a new connection would have another interface or source address, its flags are at
    /// least as good, and the kernel does not select the path of this connection any more. An equal path (ECMP) is
    /// not better. A socket that was bound to an address which the kernel would not select always has a better path.
    ///
    /// For a connection that waits or is lost: a new connection can send now.
    public var betterPath: Path? { details.value.betterPath?.value }
    /// The status of each subflow of an MPTCP connection, in the order of ``NetworkConnection/subflows``; empty for
    /// other connections.
    ///
    /// The connection is viable or local if one subflow is. It waits if no subflow is viable or local and at least
    /// one waits. It is lost if all are. Its other properties are those of the subflow that decides.
    public var subflows: [ConnectionStatus] { details.value.subflows }

    /// Whether the packets leave: the state is ``State/viable`` or ``State/local``.
    public var isViable: Bool { state == .viable || state == .local }
    /// Whether a new connection would take a better path.
    public var hasBetterPath: Bool { betterPath != nil }
}

extension ConnectionStatus: Codable {
    /// Decodes an object whose keys are the names of the properties.
    public init(from decoder: any Decoder) throws {
        details = try Box(from: decoder)
    }

    /// Encodes an object whose keys are the names of the properties.
    public func encode(to encoder: any Encoder) throws {
        try details.encode(to: encoder)
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// One line: the state, the reason, and the better path if there is one.
    public var description: String {
        "\(state): \(reason)\(betterPath.map { "; better path: \($0)" } ?? "")"
    }
}

extension ConnectionStatus.Path: CustomStringConvertible {
    /// The parts in the words of ip(8), such as `eth0 via 192.0.2.1 from 192.0.2.2`.
    public var description: String {
        let via = gateway.map { " via \($0)" } ?? ""
        let from = sourceAddress.map { " from \($0)" } ?? ""
        return "\(interface?.name ?? "another interface")\(via)\(from)"
    }
}
