// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A local address, and the interface that its socket is bound to.
struct LocalEnd {
    /// The address as it was given, with its zone.
    let given: IPAddress
    let interfaceIndex: UInt32?

    var address: IPAddress { given.withoutZone }
}

/// What the socket of a question is bound to.
struct SocketBinding {
    /// The name of the interface; `nil` for none.
    var interface: String?
    /// The local address; `nil` for none.
    var local: LocalEnd?
}

/// A question about one candidate of a target, from its plan to its answer.
///
/// The queries that it makes and their results are in the ``QuestionRound``, and the question has their indices there.
struct Question {
    /// How far the question is.
    enum State {
        /// It waits for answers of the kernel.
        case open
        /// The kernel has answered: the result of ``Question/answered`` counts.
        case answered
        /// It was decided without the kernel: not reachable.
        indirect case settled(ReachabilityReason)
        /// It cannot be answered.
        case failed(ReachabilityError)
    }

    /// The address that the question is about.
    let candidate: Candidate
    /// The index of the candidate's target in its round.
    let target: Int
    /// How much to find out.
    let detail: QueryDetail
    /// Whether the socket is connected: its packets take one nexthop of several, which the kernel chooses by a hash.
    let isConnected: Bool
    /// What the socket is bound to; `nil` for nothing.
    var binding: Box<SocketBinding>?
    var state = State.open
    /// The query about the local IPv4 address; `nil` for none.
    var localQuery: Int?
    /// The query about the route; `nil` where the kernel is not asked.
    var query: Int?
    /// The query about the source address of the packet; `nil` where that is not asked for: ``QueryDetail/hasSource``.
    var packetQuery: Int?
    /// The queries with each of the source addresses that the kernel can select, where that can change the answer.
    var sourceQueries: [Int] = []
    /// The query whose result counts.
    var answered = 0
    /// The shortest lifetime of a route among the answers.
    var lifetime: Int32?

    init(_ candidate: Candidate, _ detail: QueryDetail, of target: Int, isConnected: Bool = false) {
        self.candidate = candidate
        self.detail = detail
        self.target = target
        self.isConnected = isConnected
    }

    /// The name of the interface that the socket is bound to.
    var boundInterface: String? { binding?.value.interface }

    /// Adds what the answer depends on.
    func note(in dependencies: inout RouteDependencies) {
        if let local = binding?.value.local { dependencies.addresses.insert(local.address) }
        if query != nil { dependencies.addresses.insert(candidate.destination.withoutZone) }
        dependencies.lifetime.shorten(to: lifetime)
    }
}
