// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A local address, and the interface that its socket is bound to.
struct LocalEnd: Hashable {
    /// The address as it was given, with its zone.
    let given: IPAddress
    let interfaceIndex: UInt32?

    var address: IPAddress { given.withoutZone }
}

/// A question about one candidate of a target, from its plan to its answer.
///
/// A class, because each step of a round changes a part of it.
final class Question {
    /// How far the question is.
    enum State {
        /// It has to be asked.
        case planned
        /// The kernel has answered.
        case answered(RouteAnswer)
        /// It was decided without the kernel: not reachable.
        case settled(ReachabilityReason)
        /// It cannot be answered.
        case failed(ReachabilityError)
    }

    /// The address that the question is about.
    let candidate: Candidate
    /// The index of the candidate's target in its round.
    var target = 0
    /// How much to find out.
    let detail: QueryDetail
    /// The name of the interface that the socket is bound to.
    var boundInterface: String?
    /// The packet as it was planned.
    var query: RouteQuery
    var state = State.planned
    /// The source address that the socket selects, where that has decided.
    var selectedSource: IPAddress?
    /// Whether the selected source address is one of several that the kernel can select.
    var hasSeveralSources = false
    /// The source address of the packet, `nil` for none; not set where it was not asked for: ``QueryDetail/hasSource``.
    var packetSource: Result<IPAddress?, ReachabilityError> = .success(nil)
    /// Whether the kernel was asked.
    var isAsked = false
    /// What the socket is bound to, if that was asked about together with the question.
    var localEnd: LocalEnd?
    /// The shortest lifetime of a route among the answers.
    var lifetime: Int32?
    /// How the question is asked: see ``QuestionRound``.
    var step = Step.first
    /// How many answers the question waits for.
    var openQueries = 0
    /// What to ask in the next round.
    var next: [RouteQuery] = []

    init(_ candidate: Candidate, _ query: RouteQuery, boundInterface: String? = nil, _ detail: QueryDetail) {
        self.candidate = candidate
        self.query = query
        self.boundInterface = boundInterface
        self.detail = detail
        self.query.wantsEntry = detail == .full
    }

    /// Whether the kernel is asked, or was.
    var needsKernel: Bool {
        if case .planned = state { true } else { isAsked }
    }

    /// The packet that the answer is about.
    var answeredQuery: RouteQuery {
        guard let selectedSource else { return query }
        var query = query
        query.source = selectedSource
        return query
    }

    /// Adds what the answer depends on.
    func note(in dependencies: inout RouteDependencies) {
        if let localEnd { dependencies.addresses.insert(localEnd.address) }
        if isAsked { dependencies.addresses.insert(query.destination) }
        dependencies.note(lifetime: lifetime)
    }
}
