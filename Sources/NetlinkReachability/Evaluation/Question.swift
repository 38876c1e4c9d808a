// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A question about one candidate of a target, from its plan to its answer.
struct Question: Sendable {
    /// How far the question is.
    enum State: Sendable {
        /// It has to be asked.
        case planned
        /// The kernel has answered. The query has the source address that the socket selects, where that has decided.
        case answered(RouteAnswer, RouteQuery)
        /// It was decided without the kernel: not reachable.
        case settled(ReachabilityReason)
        /// It cannot be answered.
        case failed(ReachabilityError)
    }

    /// The address that the question is about.
    let candidate: Candidate
    /// The name of the interface that the socket is bound to.
    var boundInterface: String?
    /// How much to find out.
    let detail: QueryDetail
    /// The packet.
    var query: RouteQuery
    var state = State.planned
    /// The nexthop and source address of the packet, for ``QueryDetail/full``; `nil` where they were not asked for.
    var choice: RoutingResult?
    /// Whether the kernel was asked.
    var isAsked = false
    /// What the answer depends on.
    var dependencies = RouteDependencies()

    /// Whether the kernel is asked, or was.
    var needsKernel: Bool {
        if case .planned = state { true } else { isAsked }
    }

    init(_ candidate: Candidate, _ query: RouteQuery, boundInterface: String? = nil, _ detail: QueryDetail) {
        self.candidate = candidate
        self.query = query
        self.boundInterface = boundInterface
        self.detail = detail
        self.query.wantsEntry = detail == .full
    }
}
