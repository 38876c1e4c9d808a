// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// How much an evaluation finds out; a higher level costs further questions and never changes the flags.
package enum EvaluationDetail: Hashable, Sendable {
    /// The flags.
    case flags
    /// Also the reason and the interface. Its type is not asked for: a wireless one can count as wired.
    case reason
    /// Also the type of the interface, which the kernel is asked about over nl80211.
    case brief
    /// Also the table's entry, and every candidate of the target.
    case full

    /// What is found out about an interface.
    var interface: InterfaceDetail { self == .flags || self == .reason ? .flags : .report }
}

/// The flags of a candidate or of a whole target, and what they follow from.
package struct Evaluation: Hashable, Sendable {
    /// The flags.
    package var flags: ReachabilityFlags
    /// What decided.
    package var kind: ReachabilityReason.Kind
    /// The address that decided; `nil` when there was none.
    package var candidate: Candidate?
    /// The question that decided; `nil` when none was asked.
    package var query: RouteQuery?
    /// The name of the interface that the question was bound to.
    package var boundInterface: String?
    /// The answer to ``query``.
    package var lookup: RouteLookup?
    /// The nexthop that decided.
    package var nexthop: Nexthop?
    /// The interface of that nexthop.
    package var facts: InterfaceFacts?
    /// The evaluations of all candidates, in order; empty below ``EvaluationDetail/full``.
    ///
    /// The two halves of the IPv4 default path are one evaluation unless they differ.
    package var all: [Evaluation] = []
    /// The reason when no question was asked.
    private var settledReason: ReachabilityReason?

    /// An evaluation that follows from an answer.
    package init(_ flags: ReachabilityFlags, _ kind: ReachabilityReason.Kind, nexthop: Nexthop? = nil) {
        self.flags = flags
        self.kind = kind
        self.nexthop = nexthop
    }

    /// "Not reachable", decided without a question.
    package init(settled reason: ReachabilityReason, _ candidate: Candidate? = nil) {
        self.init([], reason.kind)
        settledReason = reason
        self.candidate = candidate
    }

    /// How good a candidate is: 2 reachable now, 1 after a connection is made, 0 not reachable.
    package var rank: Int { flags.rank }

    /// Whether this evaluation replaces an earlier one: only a higher rank does, so that ties keep their order.
    ///
    /// Where no default path exists, the first that has a default route gives the reason.
    func replaces(_ earlier: Evaluation) -> Bool {
        if rank != earlier.rank { return rank > earlier.rank }
        return rank == 0 && earlier.kind == .noDefaultRoute && kind != .noDefaultRoute && kind != .noFamily
    }

    /// Whether both evaluations are about the default path of one family, and the same route decided.
    func isSameDefaultPath(as other: Evaluation) -> Bool {
        guard let candidate, let known = other.candidate, candidate.isDefaultPath, known.isDefaultPath,
            candidate.destination.family == known.destination.family,
            candidate.destination.zone == known.destination.zone
        else { return false }
        return flags == other.flags && kind == other.kind && nexthop == other.nexthop
            && lookup?.summary == other.lookup?.summary && lookup?.route == other.lookup?.route
    }

    /// The gateway of a unicast route; packets ignore the gateway of an entry of another type.
    package var gateway: IPAddress? {
        lookup?.summary.type == .unicast ? nexthop?.gateway : nil
    }

    /// What decided, with the names that its sentence uses.
    package var reason: ReachabilityReason {
        if let settledReason { return settledReason }
        let interface = facts?.link.name ?? ""
        switch kind {
        case .noFamily:
            return ReachabilityReason(kind, candidate?.destination.family.description ?? "")
        case .noRouteOutOfInterface:
            return ReachabilityReason(kind, boundInterface ?? interface)
        case .noSourceAddress:
            return ReachabilityReason(kind, boundInterface ?? candidate?.destination.zone?.description ?? "")
        case .loopbackSource:
            return ReachabilityReason(kind, query?.source?.description ?? "")
        case .unusableRoute:
            return ReachabilityReason(kind, lookup?.summary.type?.description ?? "")
        case .lowerInterfaceDown, .lowerNoCarrier:
            return ReachabilityReason(kind, interface, other: facts?.obstructedLower?.name ?? "")
        case .gateway:
            return ReachabilityReason(kind, interface, other: nexthop?.gateway?.description ?? "")
        default:
            return ReachabilityReason(kind, interface)
        }
    }
}

extension ReachabilityFlags {
    /// How good an address is among several: 2 reachable now, 1 after a connection is made, 0 not reachable.
    package var rank: Int {
        guard contains(.reachable) else { return 0 }
        return contains(.connectionRequired) ? 1 : 2
    }
}

/// An address that a target stands for, one of possibly several.
package struct Candidate: Hashable, Sendable {
    /// The address that the kernel is asked about.
    package var destination: IPAddress
    /// Whether the address only stands for the default path.
    package var isDefaultPath: Bool

    /// An address that is evaluated for its own sake.
    package static func address(_ address: IPAddress) -> Candidate {
        Candidate(destination: address, isDefaultPath: false)
    }

    /// The default path of one family, through the interface of a zone or any: public addresses stand for it.
    ///
    /// IPv4 has one in each half of the address space, because a host can send one half elsewhere. Filters of special
    /// addresses do not answer for them, as they would for 0.0.0.1 or `::`.
    package static func defaultPath(_ family: IPAddress.Family, zone: ZoneIdentifier? = nil) -> [Candidate] {
        let probes =
            switch family {
            case .v4: [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1)]
            case .v6: [IPAddress(v6High: 0x2600 << 48, low: 1)]
            }
        return probes.map { probe in
            var probe = probe
            probe.zone = zone
            return Candidate(destination: probe, isDefaultPath: true)
        }
    }

    /// The candidates of an address, which are those of the default path for the zero addresses.
    ///
    /// A resolver can return a zero address too: many hosts files map names to 0.0.0.0.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.flatMap { defaultPath($0, zone: address.zone) }
    }
}
