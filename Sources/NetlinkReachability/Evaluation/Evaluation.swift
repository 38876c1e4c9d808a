// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The flags of a candidate, and what decided.
package struct Judgement: Hashable, Sendable {
    /// The flags.
    package var flags: ReachabilityFlags
    /// What decided.
    package var kind: ReachabilityReason.Kind
    /// The nexthop that decided.
    ///
    /// `Optional` is written out, as in ``RouteMatch``.
    package var nexthop: Optional<Nexthop>
    /// Whether the packet that the route puts around the one that was looked up decided.
    package var isOfOuter = false

    /// Describes what follows from an answer.
    package init(
        _ flags: ReachabilityFlags,
        _ kind: ReachabilityReason.Kind,
        _ nexthop: Nexthop? = nil
    ) {
        self.flags = flags
        self.kind = kind
        self.nexthop = nexthop
    }

    /// Whether this judgement replaces an earlier one: only a higher rank does, so that ties keep their order.
    ///
    /// Where no default path exists, the first that has a default route gives the reason.
    func replaces(_ earlier: Judgement) -> Bool {
        if flags.rank != earlier.flags.rank { return flags.rank > earlier.flags.rank }
        return flags.rank == 0 && earlier.kind == .noDefaultRoute && kind != .noDefaultRoute
            && kind != .noFamily
    }
}

/// The flags of a candidate or of a whole target, and their basis.
package struct Evaluation: Hashable, Sendable {
    /// The query and the answer behind a judgement.
    package struct Basis: Hashable, Sendable {
        /// The address that decided; `nil` when there was none.
        package var candidate: Candidate?
        /// The query that decided; `nil` when none was asked.
        package var query: RouteQuery?
        /// The name of the interface to which the query was bound.
        package var boundInterface: String?
        /// The answer to ``query``.
        package var answer: RouteAnswer?
        /// The source address that packets get; `nil` where it is unknown, and below ``QueryDetail/source``.
        package var sourceAddress: IPAddress?
        /// The evaluations of all candidates, in order; empty below ``QueryDetail/full``.
        ///
        /// The two halves of the IPv4 default path are one evaluation unless they differ.
        package var all: [Evaluation] = []
        /// What became of the packet that the route puts around this one.
        var outerReason: ReachabilityReason?
        /// The entry of the tables for that packet; `nil` below ``QueryDetail/full``.
        var outerEntry: Route?
        /// The rule or route that refuses the packet, in words; empty for none.
        var refusal = ""
        /// Why one nexthop lets packets leave, and another one does not, where only some connections leave.
        var nexthopReasons: [ReachabilityReason] = []
        /// The address that would be the source but for duplicate address detection, in words; empty for none.
        var pendingSource = ""
        /// The packets that leave through the interface of the nexthop: those around the others where they decided.
        var packets: InnerPackets?
        /// The interface of the local IPv4 address of the socket, by the local table.
        ///
        /// `nil` also for a route that a program added: such a route does not show which interface has the address.
        var localInterface: UInt32?
        /// The reason of a target that is unreachable without a query.
        var givenReason: ReachabilityReason?
    }

    /// The flags, and what decided.
    package var judgement: Judgement
    /// The interface of the nexthop that decided.
    ///
    /// `Optional` is written out, as in ``RouteMatch``.
    package var facts: Optional<InterfaceFacts>
    /// On the heap: an evaluation is copied often.
    private let basis: Box<Basis>

    /// An evaluation that follows from an answer.
    init(_ judgement: Judgement, _ facts: InterfaceFacts? = nil, _ basis: Basis = Basis()) {
        self.judgement = judgement
        self.facts = facts
        self.basis = Box(basis)
    }

    /// "Not reachable", decided without a query.
    package init(unreachable reason: ReachabilityReason, _ candidate: Candidate? = nil) {
        self.init(Judgement([], reason.kind), nil, Basis(candidate: candidate, givenReason: reason))
    }

    /// The evaluation with those of all candidates.
    func with(all: [Evaluation]) -> Evaluation {
        var basis = basis.value
        basis.all = all
        return Evaluation(judgement, facts, basis)
    }

    /// See ``Basis/candidate``.
    package var candidate: Candidate? { basis.value.candidate }
    /// See ``Basis/query``.
    package var query: RouteQuery? { basis.value.query }
    /// See ``Basis/boundInterface``.
    package var boundInterface: String? { basis.value.boundInterface }
    /// See ``Basis/answer``.
    package var answer: RouteAnswer? { basis.value.answer }
    /// See ``Basis/sourceAddress``.
    package var sourceAddress: IPAddress? { basis.value.sourceAddress }
    /// See ``Basis/all``.
    package var all: [Evaluation] { basis.value.all }
    /// See ``Basis/outerReason``.
    var outerReason: ReachabilityReason? { basis.value.outerReason }
    /// See ``Basis/outerEntry``.
    var outerEntry: Route? { basis.value.outerEntry }
    /// See ``Basis/packets``.
    var packets: InnerPackets? { basis.value.packets }
    /// The route that leads ``packets`` out of the interface; `nil` where that is not known.
    var enteredRoute: Route? { judgement.isOfOuter ? nil : answer?.entry }
    /// See ``Basis/localInterface``.
    var localInterface: UInt32? { basis.value.localInterface }
    /// The flags.
    package var flags: ReachabilityFlags { judgement.flags }
    /// What decided.
    package var kind: ReachabilityReason.Kind { judgement.kind }
    /// The nexthop that decided.
    package var nexthop: Nexthop? { judgement.nexthop }

    /// How good a candidate is: 2 reachable now, 1 after a connection is made, 0 not reachable.
    package var rank: Int { flags.rank }

    /// Whether both evaluations are about the default path of one family, and the same route decided.
    func isSameDefaultPath(as other: Evaluation) -> Bool {
        guard let candidate, let known = other.candidate, candidate.isDefaultPath, known.isDefaultPath,
            candidate.destination.family == known.destination.family,
            candidate.destination.zone == known.destination.zone
        else { return false }
        return flags == other.flags && kind == other.kind && nexthop == other.nexthop
            && answer?.path == other.answer?.path && answer?.entry == other.answer?.entry
    }

    /// The gateway of a unicast route; packets ignore the gateway of an entry of another type.
    package var gateway: IPAddress? {
        answer?.type == .unicast ? nexthop?.gateway : nil
    }

    /// What decided, with the names that its sentence uses.
    package var reason: ReachabilityReason {
        if let reason = basis.value.givenReason { return reason }
        let interface = facts?.name ?? ""
        switch kind {
        case .noFamily:
            return ReachabilityReason(kind, candidate?.destination.family.description ?? "")
        case .noRouteOutOfInterface:
            return ReachabilityReason(kind, boundInterface ?? interface)
        case .unreachable, .prohibited, .blackhole, .refusedByRule:
            let verb = answer?.rejection?.verb ?? ""
            return ReachabilityReason(kind, basis.value.refusal, other: kind == .refusedByRule ? verb : "")
        case .noSourceAddress:
            return ReachabilityReason(
                kind, boundInterface ?? candidate?.destination.zone?.description ?? "",
                other: basis.value.pendingSource)
        case .unusableSource:
            return ReachabilityReason(kind, interface, other: unusableSource)
        case .loopbackSource:
            return ReachabilityReason(kind, query?.source?.description ?? "")
        case .unusableRoute:
            return ReachabilityReason(kind, answer?.type?.description ?? "")
        case .lowerInterfaceDown, .lowerNoCarrier:
            return ReachabilityReason(kind, interface, other: facts?.blockedLower?.name ?? "")
        case .tunnelWaits:
            return ReachabilityReason(kind, interface, other: basis.value.outerReason?.description ?? "")
        case .encapsulated:
            return ReachabilityReason(kind, interface, other: encapsulation)
        case .payloadNotCarried:
            let isLabelled = nexthop?.encapsulation?.value.kind == .mpls
            let family = candidate?.destination.family.description ?? ""
            return ReachabilityReason(kind, interface, other: isLabelled ? "MPLS" : family)
        case .noPeer:
            let target = candidate.map { $0.isDefaultPath ? "the default path" : "\($0.destination)" }
            return ReachabilityReason(kind, interface, other: target ?? "")
        case .outerUnreachable:
            return ReachabilityReason(kind, encapsulation, other: basis.value.outerReason?.description ?? "")
        case .someConnections:
            let reasons = basis.value.nexthopReasons.map(\.description)
            return ReachabilityReason(kind, reasons.first ?? interface, other: reasons.last ?? "")
        case .gateway:
            return ReachabilityReason(kind, interface, other: nexthop?.gateway?.description ?? "")
        default:
            return ReachabilityReason(kind, interface)
        }
    }
}

extension Evaluation {
    /// What the route puts around its packets, in words.
    private var encapsulation: String { answer?.nexthop?.encapsulation?.value.description ?? "" }

    /// The source address that packets get and that is of no use, in words.
    private var unusableSource: String {
        guard let source = query?.source ?? answer?.source, !source.isUnspecified else {
            return "no IPv4 address is valid there"
        }
        let pending = basis.value.pendingSource
        let words = source.isLoopback ? "only the loopback address" : "only link-local"
        return pending.isEmpty ? words : "\(words), and \(pending)"
    }
}

extension RouteAnswer {
    fileprivate var rejection: RouteRejection? {
        if case .rejected(let rejection) = self { rejection } else { nil }
    }
}

extension RouteRejection {
    /// What a rule or route that refuses with this errno does, in words.
    fileprivate var verb: String {
        switch self {
        case .prohibited: "prohibits it"
        case .blackhole: "drops it (blackhole)"
        default: "says unreachable"
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
