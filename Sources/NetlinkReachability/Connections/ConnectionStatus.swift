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
        ///
        /// With the reason ``ReachabilityReason/Code/unknownReturnPath`` they leave through another interface than that
        /// of the local address, which cannot receive: whether answers arrive depends on the network. With
        /// ``ReachabilityReason/Code/answerDropped`` this host would drop them after the next change of a route.
        case viable
        /// The packets do not leave now, or no answer arrives: the loopback interface is down, or the remote address of
        /// a bound socket is also an address of this host.
        ///
        /// The local address is still there: TCP repeats the packets, and the connection continues when they leave
        /// again. Reconnect if that takes longer than the program can wait.
        case waiting
        /// The local address or the interface of the socket is gone, so no answer arrives: reconnect. TCP itself would
        /// give up after a quarter of an hour (the sysctl `net.ipv4.tcp_retries2`).
        case lost
        /// The other end is this host, whose loopback interface is up: keep the connection.
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

    /// The properties, and their names in JSON.
    struct Details: Hashable, Sendable, Codable {
        var state: State
        var reason: ReachabilityReason
        let interface: NetworkInterface?
        let gateway: IPAddress?
        /// Most connections have none, which takes no memory of a path.
        var betterPath: Box<Path>?
        var subflows: [ConnectionStatus] = []
    }

    /// On the heap: a monitor keeps three copies of the status of each connection.
    let details: Box<Details>

    init(_ details: Details) {
        self.details = Box(details)
    }

    /// What becomes of the packets.
    public var state: State { details.value.state }
    /// Why.
    public var reason: ReachabilityReason { details.value.reason }
    /// The interface that the packets leave through, or would; `nil` if there is none.
    public var interface: NetworkInterface? { details.value.interface }
    /// The gateway that the packets are sent to; `nil` if there is none.
    public var gateway: IPAddress? { details.value.gateway }
    /// The path that a new connection would take, if it is another one; `nil` if there is no better path.
    ///
    /// For a viable connection: a new one would have another interface or source address, the flags of its path are at
    /// least as good, and the path of this connection is not selected any more. An equal path beside it (ECMP) is not
    /// better. A socket that was bound to an address which the kernel does not select has a better path all the time.
    ///
    /// For a connection that waits or is lost: a new connection can send now.
    public var betterPath: Path? { details.value.betterPath?.value }
    /// The status of each subflow of an MPTCP connection, in the order of ``NetworkConnection/subflows``; empty for
    /// other connections.
    ///
    /// The connection is viable or local if one of them is, waits if none is and at least one waits, and is lost if all
    /// are. Its other properties are those of the subflow that decides.
    public var subflows: [ConnectionStatus] { details.value.subflows }

    /// Whether the packets leave: the state is ``State/viable`` or ``State/local``.
    public var isViable: Bool { state == .viable || state == .local }
    /// Whether a new connection would take a better path.
    public var hasBetterPath: Bool { betterPath != nil }
}

extension ConnectionStatus: Codable {
    /// Decodes an object with the names of the properties.
    public init(from decoder: any Decoder) throws {
        details = try Box(from: decoder)
    }

    /// Encodes an object with the names of the properties.
    public func encode(to encoder: any Encoder) throws {
        try details.encode(to: encoder)
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// One line: the state, the reason, and the better path, if there is one.
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
