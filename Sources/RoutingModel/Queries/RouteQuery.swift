// SPDX-License-Identifier: Apache-2.0

/// A question to a routing table, which way a packet of this host would go.
///
/// The kernel's counterpart is the request RTM_GETROUTE.
public struct RouteQuery: Hashable, Sendable {
    /// Where the packet goes.
    ///
    /// A scope is not looked at: give ``outputInterface``.
    public var destination: IPAddress
    /// The interface that the socket is bound to, 0 for none.
    public var outputInterface: UInt32
    /// The address that the socket is bound to.
    ///
    /// It must be one of this host.
    public var source: IPAddress?
    /// The socket's mark (SO_MARK).
    public var mark: UInt32
    /// The socket's user; `nil` for the one who asks.
    public var user: UInt32?

    /// Asks about a plain socket; set the rest for a bound or marked one.
    public init(
        destination: IPAddress,
        outputInterface: UInt32 = 0,
        source: IPAddress? = nil,
        mark: UInt32 = 0,
        user: UInt32? = nil
    ) {
        self.destination = destination
        self.outputInterface = outputInterface
        self.source = source
        self.mark = mark
        self.user = user
    }
}

/// What a routing table says to a ``RouteQuery``.
public enum RouteAnswer: Hashable, Sendable {
    /// The entry that the packet takes, with all its legs.
    case route(Route)
    /// Nothing takes the packet, or an entry or a rule refuses it.
    case rejected(RouteRejection)
}

/// Why a packet has no way out.
///
/// The kernel tells it by an errno, and the same one for a route and for a rule.
public struct RouteRejection: RawRepresentable, Hashable, Sendable {
    /// The errno.
    public let rawValue: Int32

    /// Wraps an errno.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// No route, or a rule that says unreachable (ENETUNREACH).
    public static let noRoute = RouteRejection(rawValue: 101)
    /// A route that says unreachable, or none out of the interface asked for (EHOSTUNREACH).
    public static let unreachable = RouteRejection(rawValue: 113)
    /// A route or a rule that says prohibited (EACCES).
    public static let prohibited = RouteRejection(rawValue: 13)
    /// A route or a rule that drops in silence (EINVAL).
    public static let blackhole = RouteRejection(rawValue: 22)
    /// The kernel has no such address family (EAFNOSUPPORT).
    public static let noFamily = RouteRejection(rawValue: 97)
}
