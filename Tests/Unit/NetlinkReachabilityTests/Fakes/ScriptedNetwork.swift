// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Synchronization

/// A routing source that answers what it is told to, and remembers what it was asked.
final class ScriptedNetwork: RoutingSource {
    /// What is answered about one destination.
    enum Answer: Sendable {
        case route(Route)
        case rejected(RouteRejection)
        case fault(RoutingFault)

        func get() throws(RoutingFault) -> RouteAnswer {
            switch self {
            case .route(let route): .route(route)
            case .rejected(let rejection): .rejected(rejection)
            case .fault(let fault): throw fault
            }
        }
    }

    struct Script: Sendable {
        /// Answers by destination, in turn; the last one repeats, and without one there is no route.
        var answers: [IPAddress: [Answer]] = [:]
        /// Answers to questions bound to an interface; they come before ``answers``.
        var boundAnswers: [UInt32: Answer] = [:]
        /// What a packet would take, by destination.
        var choices: [IPAddress: Answer] = [:]
        var interfaces: [InterfaceFacts] = []
        /// How often an interface is said to be gone before it is there.
        var absences: [UInt32: Int] = [:]
        var interfaceFault: RoutingFault?
    }

    private struct State: Sendable {
        var script: Script
        var queries: [RouteQuery] = []
        var choiceQueries: [RouteQuery] = []
        var details: [InterfaceDetail] = []
    }

    private let state: Mutex<State>

    init(_ script: Script = Script()) {
        state = Mutex(State(script: script))
    }

    /// The questions so far, in order.
    var queries: [RouteQuery] {
        state.withLock { $0.queries }
    }

    var choiceQueries: [RouteQuery] {
        state.withLock { $0.choiceQueries }
    }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        RouteLookup(detail == .choice ? try choice(for: query) : try answer(to: query))
    }

    private func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = state.withLock { state -> Answer in
            state.queries.append(query)
            if query.outputInterface != 0, let bound = state.script.boundAnswers[query.outputInterface] {
                return bound
            }
            guard let answers = state.script.answers[query.destination], let first = answers.first else {
                return .rejected(.noRoute)
            }
            if answers.count > 1 { state.script.answers[query.destination] = Array(answers.dropFirst()) }
            return first
        }
        return try answer.get()
    }

    private func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = state.withLock { state -> Answer in
            state.choiceQueries.append(query)
            return state.script.choices[query.destination] ?? .rejected(.noRoute)
        }
        return try answer.get()
    }

    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        let (facts, fault) = state.withLock { state -> (InterfaceFacts?, RoutingFault?) in
            state.details.append(detail)
            if let absences = state.script.absences[index], absences > 0 {
                state.script.absences[index] = absences - 1
                return (nil, nil)
            }
            var facts = state.script.interfaces.first { $0.link.index == index }
            if detail == .flags {
                // What the live kernel is not asked for either, unless a report is wanted.
                facts = facts?.with(ports: [], wirelessIndexes: [])
            }
            return (facts, state.script.interfaceFault)
        }
        if let fault { throw fault }
        return facts
    }

    func links() throws(RoutingFault) -> [Link] {
        state.withLock { $0.script.interfaces.map(\.link) }
    }
}

/// A resolver that answers what it is told to, and remembers what it was asked.
final class ScriptedResolver: HostResolver {
    struct Question: Hashable, Sendable {
        var name: String
        var families: ReachabilityOptions.Families
        var timeout: Duration
    }

    private let answers: [String: HostResolution]
    private let fault: RoutingFault?
    private let asked = Mutex<[Question]>([])

    init(_ answers: [String: HostResolution] = [:], fault: RoutingFault? = nil) {
        self.answers = answers
        self.fault = fault
    }

    var questions: [Question] {
        asked.withLock { $0 }
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        asked.withLock { $0.append(Question(name: name, families: families, timeout: timeout)) }
        if let fault { throw fault }
        return answers[name] ?? .notFound
    }
}
