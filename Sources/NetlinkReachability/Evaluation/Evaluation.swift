// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The flags of a candidate, and the fact that decided.
struct Judgement: Hashable, Sendable {
    /// The flags.
    var flags: ReachabilityFlags
    /// The fact that decided.
    var kind: ReachabilityReason.Code
    /// The nexthop that decided.
    ///
    /// `Optional` is written out, as in ``RouteMatch``.
    var nexthop: Optional<Nexthop>
    /// Whether the outer packet of an encapsulating route decided.
    var isOfOuter = false
    /// The number of nexthops that are as good as this one, among which the kernel chooses by a hash that is not known.
    var choices: UInt16 = 1

    /// Creates a judgement that follows from an answer.
    init(
        _ flags: ReachabilityFlags,
        _ kind: ReachabilityReason.Code,
        _ nexthop: Nexthop? = nil
    ) {
        self.flags = flags
        self.kind = kind
        self.nexthop = nexthop
    }

    /// Whether this judgement replaces an earlier one.
    ///
    /// Only a judgement with a higher rank replaces another, so the first of several equal judgements stays.
    ///
    /// If there is no default path, the first judgement with a default route gives the reason.
    func replaces(_ earlier: Judgement) -> Bool {
        if flags.rank != earlier.flags.rank { return flags.rank > earlier.flags.rank }
        return flags.rank == 0 && earlier.kind == .noDefaultRoute && kind != .noDefaultRoute
            && kind != .noFamily
    }
}

/// The flags of a candidate or of a whole target, with the query and the answer that they follow from.
struct Evaluation: Hashable, Sendable {
    /// The query, the answer and the details behind a judgement.
    struct Basis: Hashable, Sendable {
        /// The address that decided; `nil` if there was none.
        var candidate: Candidate?
        /// The query that decided; `nil` if there was none.
        var query: RouteQuery?
        /// The name of the interface that the query was bound to.
        var boundInterface: String?
        /// The answer to ``query``.
        var answer: RouteAnswer?
        /// The source address of packets; `nil` if it is unknown, and below ``QueryDetail/source``.
        var sourceAddress: IPAddress?
        /// The evaluations of all candidates, in order; empty below ``QueryDetail/full``.
        ///
        /// The two halves of the IPv4 default path share one evaluation unless they differ.
        var all: [Evaluation] = []
        /// Why the outer packet of an encapsulating route can or cannot leave.
        var outerReason: ReachabilityReason?
        /// The routing table entry for the outer packet; `nil` below ``QueryDetail/full``.
        var outerEntry: Route?
        /// The rule or route that refuses the packet, in words; empty if there is none.
        var refusal = ""
        /// If only some connections can leave: the reason of a nexthop that can send, and of one that cannot.
        var nexthopReasons: [ReachabilityReason] = []
        /// The address that will become the source when duplicate address detection ends, in words; empty if there is
        /// none.
        var pendingSource = ""
        /// The packets that leave through the nexthop's interface: the outer packets, if these decided.
        var packets: InnerPackets?
        /// The interface with the socket's local IPv4 address, according to the local table.
        ///
        /// Also `nil` for a route that a program added, which does not show the interface with the address.
        var localInterface: UInt32?
        /// The reason of a target that is unreachable without a query.
        var givenReason: ReachabilityReason?
    }

    /// The flags, and the fact that decided.
    var judgement: Judgement
    /// The interface of the nexthop that decided.
    ///
    /// `Optional` is written out, as in ``RouteMatch``.
    var facts: Optional<InterfaceFacts>
    /// Boxed, because an evaluation is copied often.
    private let basis: Box<Basis>

    /// Creates an evaluation that follows from an answer.
    init(_ judgement: Judgement, _ facts: InterfaceFacts? = nil, _ basis: Basis = Basis()) {
        self.judgement = judgement
        self.facts = facts
        self.basis = Box(basis)
    }

    /// Creates the evaluation of a target that is unreachable without a query.
    init(unreachable reason: ReachabilityReason, _ candidate: Candidate? = nil) {
        self.init(Judgement([], reason.code), nil, Basis(candidate: candidate, givenReason: reason))
    }

    /// A copy with the evaluations of all candidates.
    func with(all: [Evaluation]) -> Evaluation {
        var basis = basis.value
        basis.all = all
        return Evaluation(judgement, facts, basis)
    }

    /// See ``Basis/candidate``.
    var candidate: Candidate? { basis.value.candidate }
    /// See ``Basis/query``.
    var query: RouteQuery? { basis.value.query }
    /// See ``Basis/boundInterface``.
    var boundInterface: String? { basis.value.boundInterface }
    /// See ``Basis/answer``.
    var answer: RouteAnswer? { basis.value.answer }
    /// See ``Basis/sourceAddress``.
    var sourceAddress: IPAddress? { basis.value.sourceAddress }
    /// See ``Basis/all``.
    var all: [Evaluation] { basis.value.all }
    /// See ``Basis/outerReason``.
    var outerReason: ReachabilityReason? { basis.value.outerReason }
    /// See ``Basis/outerEntry``.
    var outerEntry: Route? { basis.value.outerEntry }
    /// See ``Basis/packets``.
    var packets: InnerPackets? { basis.value.packets }
    /// The route of ``packets`` through the interface; `nil` if it is not known.
    var enteredRoute: Route? { judgement.isOfOuter ? nil : answer?.entry }
    /// See ``Basis/localInterface``.
    var localInterface: UInt32? { basis.value.localInterface }
    /// The flags.
    var flags: ReachabilityFlags { judgement.flags }
    /// The fact that decided.
    var kind: ReachabilityReason.Code { judgement.kind }
    /// The nexthop that decided.
    var nexthop: Nexthop? { judgement.nexthop }

    /// The rank of a candidate: 2 reachable now, 1 reachable after a connection is made, 0 not reachable.
    var rank: Int { flags.rank }

    /// Whether both evaluations are about the default path of one family, and have the same flags, reason and
    /// nexthop.
    func isSameDefaultPath(as other: Evaluation) -> Bool {
        guard let candidate, let known = other.candidate, candidate.isDefaultPath, known.isDefaultPath,
            candidate.destination.family == known.destination.family,
            candidate.destination.zone == known.destination.zone
        else { return false }
        return flags == other.flags && kind == other.kind && nexthop == other.nexthop
            && answer?.path == other.answer?.path && answer?.entry == other.answer?.entry
    }

    /// The gateway of a route that leaves the host.
    var gateway: IPAddress? {
        answer?.type?.leavesHost == true ? nexthop?.gateway : nil
    }

    /// The nexthops that packets can take instead of ``nexthop``, because the kernel chooses by a hash that is not
    /// known, each path once.
    var otherNexthops: [Nexthop] {
        guard let answer, answer.hasSeveralNexthops, !flags.isEmpty, !judgement.isOfOuter else { return [] }
        var paths = Set([nexthop?.path].compactMap(\.self))
        return answer.nexthops.filter { !$0.flags.contains(.dead) && paths.insert($0.path).inserted }
    }

    /// The reason, with the names that its sentence uses.
    var reason: ReachabilityReason {
        if let reason = basis.value.givenReason { return reason }
        let (name, other) = names
        let isOfChoices = [.gateway, .onLink, .pointToPoint].contains(kind)
        return ReachabilityReason(kind, name, other: other, choices: isOfChoices ? judgement.choices : 1)
    }

    /// What the sentence of the reason names.
    private var names: (name: String, other: String) {
        let interface = facts?.name ?? ""
        let family = candidate?.destination.family.description ?? ""
        let basis = basis.value
        return switch kind {
        case .noFamily: (family, "")
        case .noRouteOutOfInterface: (boundInterface ?? interface, "")
        // A route out of the loopback interface.
        case .unreachable where facts != nil: ("out of \(interface)", "")
        case .unreachable, .prohibited, .blackhole: (basis.refusal, "")
        case .refusedByRule: (basis.refusal, answer?.rejection?.verb ?? "")
        case .noSourceAddress:
            (boundInterface ?? candidate?.destination.zone?.description ?? "", basis.pendingSource)
        case .unusableSource: (interface, unusableSource)
        case .loopbackSource, .notOwnAddress: (query?.source?.description ?? "", "")
        case .unusableRoute: (answer?.type?.description ?? "", "")
        case .lowerInterfaceDown, .lowerNoCarrier: (interface, facts?.blockedLower?.name ?? "")
        case .tunnelWaits: (interface, basis.outerReason?.description ?? "")
        case .encapsulated: (interface, encapsulation)
        case .payloadNotCarried:
            (interface, nexthop?.encapsulation?.value.kind == .mpls ? "MPLS" : family)
        case .noPeer:
            (interface, candidate.map { $0.isDefaultPath ? "the default path" : "\($0.destination)" } ?? "")
        case .outerUnreachable: (encapsulation, basis.outerReason?.description ?? "")
        case .someConnections:
            (
                basis.nexthopReasons.first?.description ?? interface,
                basis.nexthopReasons.last?.description ?? ""
            )
        case .gateway: (interface, nexthop?.gateway?.description ?? "")
        default: (interface, "")
        }
    }
}

extension Evaluation {
    /// The encapsulation of the packets, in words.
    private var encapsulation: String { answer?.nexthop?.encapsulation?.value.description ?? "" }

    /// The source address to which no answer can arrive, in words.
    private var unusableSource: String {
        guard let source = query?.source ?? answer?.source, !source.isUnspecified else {
            return "no IPv4 address is valid there"
        }
        let pending = basis.value.pendingSource
        let words = source.isLoopback ? "only the loopback address" : "only link-local"
        return pending.isEmpty ? words : "\(words), and \(pending)"
    }
}

extension RouteRejection {
    /// The effect of a rule or route with this errno, in words.
    fileprivate var verb: String {
        switch self {
        case .prohibited: "prohibits it"
        case .blackhole: "drops it (blackhole)"
        default: "says unreachable"
        }
    }
}

extension ReachabilityFlags {
    /// The rank of an address among several: 2 reachable now, 1 reachable after a connection is made, 0 not
    /// reachable.
    package var rank: Int {
        guard contains(.reachable) else { return 0 }
        return contains(.connectionRequired) ? 1 : 2
    }
}
