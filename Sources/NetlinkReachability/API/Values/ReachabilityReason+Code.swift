// SPDX-License-Identifier: Apache-2.0

extension ReachabilityReason {
    /// What decided over a target, for programs.
    ///
    /// Later versions can add codes: in a `switch`, keep a default branch.
    public struct Code: Hashable, Sendable, Codable, CustomStringConvertible {
        private let kind: Kind

        package init(_ kind: Kind) {
            self.kind = kind
        }

        /// The code's name, such as `noCarrier`, which stays the same in later versions.
        public var description: String { kind.rawValue }

        /// Decodes a code from its name.
        ///
        /// - Throws: `DecodingError` if this version has no code of that name.
        public init(from decoder: any Decoder) throws {
            kind = try Kind(from: decoder)
        }

        /// Encodes the code as its name.
        public func encode(to encoder: any Encoder) throws {
            try kind.encode(to: encoder)
        }
    }
}

// MARK: - Packets can leave

extension ReachabilityReason.Code {
    /// The target is an address of this host.
    public static let localAddress = Self(.localAddress)
    /// The target is an anycast address that this host answers to.
    public static let anycastAddress = Self(.anycastAddress)
    /// The target is on the link of an interface.
    public static let onLink = Self(.onLink)
    /// The target is reached over a point-to-point interface, without a gateway.
    public static let pointToPoint = Self(.pointToPoint)
    /// The target is a broadcast address.
    public static let broadcast = Self(.broadcast)
    /// The target is a multicast group.
    public static let multicast = Self(.multicast)
    /// The target is reached through a gateway.
    public static let gateway = Self(.gateway)
    /// The route puts other packets or labels around the packet (`encap`), and those can leave.
    public static let encapsulated = Self(.encapsulated)
    /// The packets leave through one interface, and the interface that has the local address is down.
    ///
    /// The kernel takes answers on any interface, so they arrive if the network sends them to the other one. An
    /// interface without a carrier counts as down here.
    public static let unknownReturnPath = Self(.unknownReturnPath)
    /// The interface has a carrier but waits for an external event, such as 802.1X.
    public static let dormant = Self(.dormant)
    /// The interface dials on demand and has not dialled yet.
    public static let notDialled = Self(.notDialled)
    /// The interface is a tunnel whose outer packets cannot leave now.
    ///
    /// Only where the kernel shows what carries the tunnel: ``TunnelCarrier/isExact``.
    public static let tunnelWaits = Self(.tunnelWaits)
}

// MARK: - Packets cannot leave

extension ReachabilityReason.Code {
    /// The kernel has no route.
    public static let noRoute = Self(.noRoute)
    /// The kernel has no route through the interface that the query is bound to.
    public static let noRouteOutOfInterface = Self(.noRouteOutOfInterface)
    /// The kernel has no default route.
    public static let noDefaultRoute = Self(.noDefaultRoute)
    /// A route or a policy rule has the type `unreachable`.
    public static let unreachable = Self(.unreachable)
    /// A route or a policy rule has the type `prohibit`.
    public static let prohibited = Self(.prohibited)
    /// A route or a policy rule has the type `blackhole`.
    public static let blackhole = Self(.blackhole)
    /// The kernel does not support the address family.
    public static let noFamily = Self(.noFamily)
    /// No IPv6 address of this host, or of the outgoing interface, can be the source.
    public static let noSourceAddress = Self(.noSourceAddress)
    /// There is a route, but no answer can arrive at the source address that packets get: a link-local or loopback
    /// address behind a gateway in IPv6, or 0.0.0.0 in IPv4.
    public static let unusableSource = Self(.unusableSource)
    /// The target is a group or a broadcast address, to which TCP does not connect.
    public static let groupOverTCP = Self(.groupOverTCP)
    /// The route has a type that sends no packets.
    public static let unusableRoute = Self(.unusableRoute)
    /// The route puts other packets around the packet (`encap`), and those cannot leave.
    public static let outerUnreachable = Self(.outerUnreachable)
    /// The route's interface is down.
    public static let interfaceDown = Self(.interfaceDown)
    /// The route's interface has no carrier, such as an unplugged cable.
    public static let noCarrier = Self(.noCarrier)
    /// An interface below the route's interface is down.
    public static let lowerInterfaceDown = Self(.lowerInterfaceDown)
    /// An interface below the route's interface has no carrier.
    public static let lowerNoCarrier = Self(.lowerNoCarrier)
    /// The route's interface was removed while the query was answered.
    public static let interfaceGone = Self(.interfaceGone)
    /// The outer packets of a tunnel have a route into the same tunnel: a reason of ``TunnelCarrier`` alone.
    public static let tunnelLoops = Self(.tunnelLoops)
    /// The remote address of a connection that is bound to an interface is also an address of this host, so the kernel
    /// drops the answers (`fib_validate_source`).
    public static let remoteIsLocalAddress = Self(.remoteIsLocalAddress)
}

// MARK: - No address to ask about

extension ReachabilityReason.Code {
    /// The address has a meaning only on a link, and no interface is given.
    public static let needsInterface = Self(.needsInterface)
    /// The interface of the socket, or of the address's zone, does not exist; it can appear.
    public static let noInterface = Self(.noInterface)
    /// The source address does not belong to this host.
    public static let notOwnAddress = Self(.notOwnAddress)
    /// The source address is a loopback address, and the target is not on this host.
    public static let loopbackSource = Self(.loopbackSource)
    /// No address of the target belongs to the families in ``ReachabilityOptions/families``.
    public static let excludedFamily = Self(.excludedFamily)
    /// No interface of an admitted type has a path.
    public static let noAdmittedInterface = Self(.noAdmittedInterface)
    /// The name does not exist, or has no address.
    public static let nameNotFound = Self(.nameNotFound)
    /// The name cannot be resolved now: a name server failed or did not answer.
    public static let nameNotResolved = Self(.nameNotResolved)
    /// The name was not resolved within ``ReachabilityOptions/Resolution/timeout``.
    public static let nameTimedOut = Self(.nameTimedOut)
}
