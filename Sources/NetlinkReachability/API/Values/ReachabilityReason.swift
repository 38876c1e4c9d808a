// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Why a target has its flags.
///
/// The ``description`` is one short English sentence. The ``code`` is stable, for programs.
///
/// ```swift
/// let report = try await reachability.report(.brief)
/// if report.reason.code == .noCarrier { print("plug in the cable: \(report.reason)") }
/// ```
public struct ReachabilityReason: Hashable, Sendable, Codable {
    /// The fact that decided, for programs.
    public let code: Code
    /// The number of nexthops among which the kernel chooses by a hash that is not known; `nil` for one.
    package let choices: UInt16?
    /// The interface that decided, or the subject of the sentence.
    package let name: String
    /// A second detail in the sentence.
    package let other: String

    package init(_ code: Code, _ name: String = "", other: String = "", choices: UInt16 = 1) {
        self.code = code
        self.choices = choices > 1 ? choices : nil
        self.name = name
        self.other = other
    }

    private enum CodingKeys: String, CodingKey {
        case code
        case choices = "nexthops"
        case name = "subject"
        case other = "detail"
    }
}

extension ReachabilityReason: CustomStringConvertible {
    /// One short sentence, without a full stop.
    public var description: String {
        choices.map { "\(sentence), or by another of its \($0) nexthops" } ?? sentence
    }

    private var sentence: String {
        switch code {
        case .localAddress: "this host's own address"
        case .anycastAddress: "an anycast address that this host answers to"
        case .onLink: "on the link of \(name), no gateway needed"
        case .pointToPoint: "over the point-to-point interface \(name)"
        case .broadcast: "a broadcast address on \(name)"
        case .multicast: "a multicast group on \(name)"
        case .gateway: "through gateway \(other) on \(name)"
        case .encapsulated: "inside other packets (\(other)) on \(name)"
        case .someConnections: "only some connections leave: \(name), but \(other)"
        case .socketRefused: "a socket is refused with \(name), although there is a route"
        case .outerUnreachable: "the packets around it (\(name)) cannot leave: \(other)"
        case .unknownReturnPath: "leaves through \(name), but answers may not arrive: \(other)"
        case .dormant: "\(name) has a carrier but waits for an external event (dormant)"
        case .notDialled: "\(name) dials on demand and has not dialled yet"
        case .tunnelWaits: "\(name) waits until its outer packets can leave: \(other)"
        case .noRoute: "no route"
        case .noRouteOutOfInterface: "no route out of \(name)\(other.isEmpty ? "" : ": \(other)")"
        case .noDefaultRoute: "no default route"
        case .unreachable: "\(refuser) says unreachable"
        case .prohibited: "\(refuser) prohibits it"
        case .blackhole: "\(refuser) drops it (blackhole)"
        case .refusedByRule: "the rule \(name) \(other)"
        case .noFamily: "this kernel does not support \(name)"
        case .noSourceAddress:
            "no IPv6 address of this host can be the source\(name.isEmpty ? "" : " on \(name)")\(other.isEmpty ? "" : ": \(other)")"
        case .unusableSource: "no usable source address on \(name): \(other)"
        case .groupOverTCP: "TCP does not connect to groups and broadcast addresses"
        case .unusableRoute: "the route is of a kind that sends nothing (\(name))"
        case .interfaceDown: "\(name) is down"
        case .noCarrier: "\(name) has no carrier"
        case .lowerInterfaceDown: "\(other), below \(name), is down"
        case .lowerNoCarrier: "\(other), below \(name), has no carrier"
        case .interfaceGone: "the route's interface is gone"
        case .tunnelLoops: "they lead back into \(name)"
        case .tunnelsTooDeep: "the kernel sends through \(name) tunnels in each other at most"
        case .payloadNotCarried: "\(name) carries no \(other) packets"
        case .noPeer: "\(name) has no peer for \(other)"
        case .noEndpoint: "the peer for \(other) has no endpoint yet"
        case .remoteIsLocalAddress: "answers are dropped: this host has the address \(name), too"
        case .answerDropped: "leaves by \(name); an answer that arrives there is dropped \(other)"
        case .reversePathFilter: "the reverse path filter of \(name) \(other)"
        case .notForwarding: "this host does not forward packets that arrive on \(name)"
        case .ownSource: "the sender \(other) is an address of this host"
        case .martianSource: "no packet from outside can come from \(other)"
        case .martianDestination: "no packet from outside can go to \(other)"
        case .groupNotJoined: "no socket has joined the group \(other) on \(name)"
        case .ipv6Off: "IPv6 is off on \(name)"
        case .scopedSource: "packets from \(other) stay on the link of \(name)"
        case .needsInterface: "\(name) needs an interface: add %interface"
        case .noInterface:
            name.isEmpty ? Link.absence(ofIndex: other) : Link.absence(ofName: name)
        case .notOwnAddress: "the source \(name) \(other.isEmpty ? "is not an address of this host" : other)"
        case .loopbackSource: "packets from \(name) reach only this host"
        case .excludedFamily:
            other.isEmpty ? "no \(name) address" : "no \(name) address, which the source \(other) needs"
        case .noAdmittedInterface: "no interface of an admitted type has a route"
        case .nameNotFound: "the name \(name) has no address"
        case .nameNotResolved: "the name \(name) could not be resolved now (\(other))"
        case .nameTimedOut: "the name \(name) was not resolved in time"
        }
    }
}

extension ReachabilityReason {
    /// The route that refuses a packet, in words.
    private var refuser: String { name.isEmpty ? "a route or rule" : "the route \(name)" }
}

extension ReachabilityReason {
    /// The fact that decided about a target, for programs.
    ///
    /// It is encoded as its name. Later versions can add codes: in a `switch`, keep a default branch.
    public enum Code: String, Hashable, Sendable, CaseIterable, Codable, CustomStringConvertible {
        // MARK: Packets can leave

        /// The target is an address of this host.
        case localAddress
        /// The target is an anycast address that this host answers to.
        case anycastAddress
        /// The target is on the link of an interface.
        case onLink
        /// The target is reached over a point-to-point interface, without a gateway.
        case pointToPoint
        /// The target is a broadcast address.
        case broadcast
        /// The target is a multicast group.
        case multicast
        /// The target is reached through a gateway.
        case gateway
        /// The route encapsulates the packet (`encap`), and the outer packet can leave.
        case encapsulated
        /// The route has several nexthops of which only some can send.
        ///
        /// The kernel chooses one by a hash.
        ///
        /// Used for the default path, which stands for many addresses. Also used for an address if the hash covers
        /// more than the addresses (`fib_multipath_hash_policy`), or if the policy is not known, as in a recording.
        case someConnections
        /// There is a route, but connect(2) refuses a socket: by an IPsec policy, a BPF program of the cgroup, or a
        /// security module.
        ///
        /// Only in full reports, whose flags remain those of the route.
        case socketRefused
        /// The packets leave through one interface, and the interface with the local address is down.
        ///
        /// The kernel accepts answers on any interface, so they arrive if the network sends them to the first
        /// interface. An interface without a carrier counts as down here.
        case unknownReturnPath
        /// The interface has a carrier but waits for an external event, such as 802.1X.
        case dormant
        /// The interface dials on demand and has not dialled yet.
        case notDialled
        /// The interface is a tunnel whose outer packets cannot leave now.
        ///
        /// Only if the kernel shows the tunnel's carrier: ``TunnelCarrier/isExact``.
        case tunnelWaits

        // MARK: Packets cannot leave

        /// The kernel has no route.
        ///
        /// This does not include a route or rule that refuses the packet.
        case noRoute
        /// The kernel has no route through the interface that the socket is bound to.
        case noRouteOutOfInterface
        /// The kernel has no default route.
        case noDefaultRoute
        /// A route has the type `unreachable`, or uses the loopback interface.
        case unreachable
        /// A route has the type `prohibit`, or a policy rule has it and the rules cannot be listed.
        case prohibited
        /// A route has the type `blackhole`, or a policy rule has it and the rules cannot be listed.
        case blackhole
        /// A policy rule has the type `unreachable`, `prohibit` or `blackhole`.
        case refusedByRule
        /// The kernel does not support the address family.
        case noFamily
        /// No IPv6 address of this host, or of the outgoing interface, can be the source address.
        case noSourceAddress
        /// There is a route, but answers cannot arrive at the packets' source address: in IPv6, a link-local or
        /// loopback address behind a gateway; in IPv4, 0.0.0.0.
        case unusableSource
        /// The target is a multicast or broadcast address, and TCP does not connect to these.
        case groupOverTCP
        /// The route's type sends no packets.
        case unusableRoute
        /// The route encapsulates the packet (`encap`), and the outer packet cannot leave.
        case outerUnreachable
        /// The route's interface is down.
        case interfaceDown
        /// The route's interface has no carrier, such as an unplugged cable.
        case noCarrier
        /// An interface below the route's interface is down.
        case lowerInterfaceDown
        /// An interface below the route's interface has no carrier.
        case lowerNoCarrier
        /// The route's interface was removed while the query was answered.
        case interfaceGone
        /// The outer packets of a tunnel have a route into the same tunnel.
        ///
        /// Only a reason of ``TunnelCarrier``.
        case tunnelLoops
        /// Tunnels are nested deeper than the kernel sends packets ("Dead loop on virtual device").
        ///
        /// Only a reason of ``TunnelCarrier``.
        case tunnelsTooDeep
        /// The route's interface is a tunnel that drops packets of this protocol, such as IPv6 into `ipip`.
        case payloadNotCarried
        /// The route's interface is a WireGuard interface, and no peer has the target among its allowed IPs.
        ///
        /// Only a process with CAP_NET_ADMIN can find this out.
        case noPeer
        /// The WireGuard peer for the target has no endpoint until it sends a packet.
        ///
        /// Only a reason of ``TunnelCarrier``.
        case noEndpoint
        /// The remote address of a connection that is bound to an interface is also an address of this host.
        ///
        /// The kernel drops the answers (`fib_validate_source`).
        case remoteIsLocalAddress

        // MARK: Packets that arrive

        /// Packets leave, but this host drops an answer that arrives on the interface through which they leave.
        ///
        /// The flags are those of leaving packets. ``ReachabilityReport/returns`` has the reason.
        case answerDropped
        /// The reverse path filter (`rp_filter`) drops the packet.
        ///
        /// This host's route to the sender uses another interface; with the loose filter, this host has no route to the
        /// sender.
        case reversePathFilter
        /// The packet is for another host, and this host does not forward packets from the interface.
        case notForwarding
        /// The sender is an address of this host, and `accept_local` is off.
        case ownSource
        /// The source address is invalid for a packet from outside, such as 127.0.0.1 or a multicast address.
        case martianSource
        /// The destination address is invalid for a packet from outside, such as 127.0.0.1.
        case martianDestination
        /// No socket of this host has joined the group on the interface.
        case groupNotJoined
        /// IPv6 is off on the interface (`disable_ipv6`).
        case ipv6Off
        /// The sender's IPv6 address is valid only on its link, and the packet would leave through another interface.
        case scopedSource

        // MARK: No address to look up

        /// The address is valid only on a link, and no interface is given.
        case needsInterface
        /// The interface of the socket, or of the address's zone, does not exist.
        ///
        /// It can still appear.
        case noInterface
        /// The source address does not belong to this host.
        case notOwnAddress
        /// The source address is a loopback address, and the target is not on this host.
        case loopbackSource
        /// No address of the target belongs to the families in ``ReachabilityOptions/families``.
        case excludedFamily
        /// No interface of an allowed type has a path.
        case noAdmittedInterface
        /// The name does not exist, or has no address.
        case nameNotFound
        /// The name cannot be resolved now, because a name server failed or did not answer.
        case nameNotResolved
        /// The name was not resolved within ``ReachabilityOptions/Resolution/timeout``.
        case nameTimedOut

        /// The code's name, such as `noCarrier`, which stays the same in later versions.
        public var description: String { rawValue }
    }
}

extension ReachabilityError {
    /// The reason of the target or connection in the last evaluation, if this error is the time-out of a wait.
    ///
    /// ```swift
    /// do {
    ///     try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// } catch let error as ReachabilityError where error.reason?.code == .noCarrier {
    ///     print("plug in the cable: \(error)")
    /// }
    /// ```
    ///
    /// The reason comes from the last evaluation of the wait and can be outdated: nothing is evaluated for the error.
    /// It is `nil` if that evaluation failed, if the name was not resolved yet, for waits for other values, and for
    /// other errors.
    public var reason: ReachabilityReason? { detail as? ReachabilityReason }
}
