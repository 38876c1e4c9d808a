// SPDX-License-Identifier: Apache-2.0

/// Why a target has its flags.
///
/// The ``description`` is one short English sentence; ``code`` is stable, for programs.
///
/// ```swift
/// let report = try await reachability.report(.brief)
/// if report.reason.code == .noCarrier { print("plug in the cable: \(report.reason)") }
/// ```
public struct ReachabilityReason: Hashable, Sendable, Codable {
    /// What decided.
    package enum Kind: String, CaseIterable, Sendable, Codable {
        // Packets can leave.
        case localAddress, anycastAddress, onLink, pointToPoint, broadcast, multicast, gateway, encapsulated
        // Packets can leave, and it is unknown whether answers arrive.
        case unknownReturnPath
        // Packets can leave after a connection is made.
        case dormant, notDialled, tunnelWaits
        // The kernel answers that packets cannot leave.
        case noRoute, noRouteOutOfInterface, noDefaultRoute, unreachable, prohibited, blackhole
        case noFamily, noSourceAddress, unusableSource, groupOverTCP, unusableRoute, outerUnreachable
        // There is a route, but its interface cannot send.
        case interfaceDown, noCarrier, lowerInterfaceDown, lowerNoCarrier, interfaceGone, tunnelLoops
        // Packets can leave, and the kernel drops the answers.
        case remoteIsLocalAddress
        // The target has no address that the kernel could be asked about.
        case needsInterface, noInterface, notOwnAddress, loopbackSource, excludedFamily, noAdmittedInterface
        case nameNotFound, nameNotResolved, nameTimedOut
    }

    package let kind: Kind
    /// The interface that decided, or the subject of the sentence.
    package let name: String
    /// A second detail in the sentence.
    package let other: String

    package init(_ kind: Kind, _ name: String = "", other: String = "") {
        self.kind = kind
        self.name = name
        self.other = other
    }

    /// What decided, for programs.
    public var code: Code { Code(kind) }

    private enum CodingKeys: String, CodingKey {
        case kind = "code"
        case name = "subject"
        case other = "detail"
    }
}

extension ReachabilityReason: CustomStringConvertible {
    /// One short sentence, without a full stop.
    public var description: String {
        switch kind {
        case .localAddress: "this host's own address"
        case .anycastAddress: "an anycast address that this host answers to"
        case .onLink: "on the link of \(name), no gateway needed"
        case .pointToPoint: "over the point-to-point interface \(name)"
        case .broadcast: "a broadcast address on \(name)"
        case .multicast: "a multicast group on \(name)"
        case .gateway: "through gateway \(other) on \(name)"
        case .encapsulated: "inside other packets (\(other)) on \(name)"
        case .outerUnreachable: "the packets around it (\(name)) cannot leave: \(other)"
        case .unknownReturnPath: "leaves through \(name), but answers may not arrive: \(other)"
        case .dormant: "\(name) has a carrier but waits for an external event (dormant)"
        case .notDialled: "\(name) dials on demand and has not dialled yet"
        case .tunnelWaits: "\(name) waits until its outer packets can leave: \(other)"
        case .noRoute: "no route"
        case .noRouteOutOfInterface: "no route out of \(name)"
        case .noDefaultRoute: "no default route"
        case .unreachable: "a route or rule says unreachable"
        case .prohibited: "a route or rule prohibits it"
        case .blackhole: "a route or rule drops it (blackhole)"
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
        case .remoteIsLocalAddress: "answers are dropped: this host has the address \(name), too"
        case .needsInterface: "\(name) needs an interface: add %interface"
        case .noInterface:
            name.isEmpty ? "no interface has the index \(other)" : "there is no interface \"\(name)\""
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
