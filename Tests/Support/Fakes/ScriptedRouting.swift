// SPDX-License-Identifier: Apache-2.0

package import NetlinkRecording
package import RoutingModel
internal import SystemSupport

/// A routing source that answers from a script, then from a snapshot, and records the queries.
package final class ScriptedRouting: RoutingSource {
    /// The answer to one query.
    package enum Answer: Sendable {
        case route(Route)
        case rejected(RouteRejection)
        case error(ReachabilityError)

        fileprivate func get() throws(ReachabilityError) -> RouteAnswer {
            switch self {
            case .route(let route): .route(route)
            case .rejected(let rejection): .rejected(rejection)
            case .error(let error): throw error
            }
        }
    }

    /// Answers by destination and interface, for cases that no consistent network produces.
    package struct Script: Sendable {
        /// Answers by destination, in order; the last one repeats.
        package var answers: [IPAddress: [Answer]]
        /// Answers to queries bound to an interface; they take precedence over ``answers``.
        package var boundAnswers: [UInt32: Answer]
        /// Answers to queries with a source address; they take precedence over all others.
        package var answersBySource: [IPAddress: Answer] = [:]
        /// The source addresses that the kernel can select for any packet.
        package var sources: [IPAddress] = []
        /// The addresses of this host.
        package var addresses: [InterfaceAddress] = []
        /// The outcomes of connect(2), by destination.
        package var connections: [IPAddress: ConnectOutcome] = [:]
        /// The peers of WireGuard interfaces.
        package var wireGuardPeers: [UInt32: WireGuardPeers] = [:]
        /// The error of every query about WireGuard peers.
        package var peersError: ReachabilityError?
        /// The hardware addresses of neighbours; `nil` if they are unknown.
        package var hardwareAddresses: [Neighbour.Key: [UInt8]]?
        /// The nexthops and sources of packets, by destination.
        package var choices: [IPAddress: Answer]
        package var interfaces: [InterfaceFacts]
        /// The facts that come with the answers, for each round in order.
        package var readings: [[InterfaceFacts]] = []
        /// How many queries report an interface as missing before it is found, by its index.
        package var absences: [UInt32: Int]
        /// The error of the list of rules.
        package var rulesError: ReachabilityError?
        /// The error of every query about an interface.
        package var interfaceError: ReachabilityError?

        package init(
            answers: [IPAddress: [Answer]] = [:],
            boundAnswers: [UInt32: Answer] = [:],
            choices: [IPAddress: Answer] = [:],
            interfaces: [InterfaceFacts] = [],
            addresses: [InterfaceAddress] = [],
            absences: [UInt32: Int] = [:],
            interfaceError: ReachabilityError? = nil
        ) {
            self.answers = answers
            self.boundAnswers = boundAnswers
            self.choices = choices
            self.interfaces = interfaces
            self.addresses = addresses
            self.absences = absences
            self.interfaceError = interfaceError
        }
    }

    fileprivate struct State {
        var script: Script
        /// Answers queries that the script lacks; `nil` for no other routes and interfaces.
        var tables: SnapshotRouting?
        var error: ReachabilityError?
        var queries: [RouteQuery] = []
        var choiceQueries: [RouteQuery] = []
        /// The scripted entry of the last query, which the query's packet takes unless the script has a choice.
        var lastEntry: (query: RouteQuery, answer: ScriptedRouting.Answer)?
        var sourceQueries: [RouteQuery] = []
        var connectQueries: [RouteQuery] = []
        var queryCount = 0
        var beforeNext: (@Sendable () -> Void)?
        var afterNext: (@Sendable () -> Void)?
    }

    private let state: Locked<State>

    package init(_ script: Script = Script()) {
        state = Locked(State(script: script))
    }

    package init(tables: SnapshotRouting, _ script: Script = Script()) {
        state = Locked(State(script: script, tables: tables))
    }

    // MARK: Changes

    /// Changes the tables.
    package func change(_ body: (inout SnapshotRouting) -> Void) {
        state.withLock { state in
            if var tables = state.tables.take() {
                body(&tables)
                state.tables = tables
            }
        }
    }

    /// Changes the script.
    package func script(_ body: (inout Script) -> Void) {
        state.withLock { body(&$0.script) }
    }

    /// Makes every query fail; `nil` ends the failures.
    package func fail(_ error: ReachabilityError?) {
        state.withLock { $0.error = error }
    }

    /// Runs a closure before the next lookup is answered, on the asking thread.
    package func beforeNext(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeNext = body }
    }

    /// Runs a closure after the next lookup is answered, on the asking thread.
    package func afterNext(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.afterNext = body }
    }

    // MARK: Records

    /// The lookups so far, in order.
    package var queries: [RouteQuery] { state.withLock { $0.queries } }

    /// The queries about the nexthop and source of a packet so far, in order.
    package var choiceQueries: [RouteQuery] { state.withLock { $0.choiceQueries } }

    /// The queries about source addresses so far, in order.
    package var sourceQueries: [RouteQuery] { state.withLock { $0.sourceQueries } }

    /// The queries about connect(2) so far, in order.
    package var connectQueries: [RouteQuery] { state.withLock { $0.connectQueries } }

    /// The destinations looked up since the last call.
    package func takeAsked() -> [IPAddress] {
        state.withLock { state in
            defer { (state.queries, state.choiceQueries) = ([], []) }
            return state.queries.map(\.destination)
        }
    }

    /// The number of queries of all kinds since the last call; an entry and the route of its packet count as one.
    package func takeCount() -> Int {
        state.withLock { state in
            defer { state.queryCount = 0 }
            return state.queryCount
        }
    }

    // MARK: Answers

    package func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        state.withLock { $0.beforeNext.take() }?()
        lookups.answer(from: first) { (query) throws(ReachabilityError) in
            try state.withLock { (state) throws(ReachabilityError) in try state.answer(to: query) }
        }
        state.withLock { $0.afterNext.take() }?()
        return state.withLock { state in
            guard !state.script.readings.isEmpty else { return [] }
            return state.script.readings.removeFirst().map { InterfaceReading($0, .full) }
        }
    }

    package func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer {
        let (script, tables) = try state.withLock { (state) throws(ReachabilityError) in
            try state.note(query)
            return (state.script, state.tables)
        }
        switch query {
        case .interface(let index, let detail, let give):
            return give(
                try state.withLock { (state) throws(ReachabilityError) in
                    try state.facts(aboutInterface: index, detail: detail)
                })
        case .connect(let query, let give): return give(script.connections[query.destination])
        case .hardwareAddresses(let give): return give(script.hardwareAddresses)
        case .wireGuardPeers(let index, let give):
            if let error = script.peersError { throw error }
            return give(script.wireGuardPeers[index])
        case .rules: if let error = script.rulesError { throw error }
        case .links(let give) where tables == nil: return give(script.interfaces.map(\.link))
        case .interfaceIndex(let name, let give) where tables == nil:
            return give(script.interfaces.first { $0.link.isNamed(name) }?.index)
        case .addresses(let give) where tables == nil: return give(script.addresses)
        case .sourceAddresses(_, let give) where tables == nil: return give(script.sources)
        case .inputSettings: return query.unknown
        default: break
        }
        return try tables?.answer(query) ?? query.unknown
    }
}

extension ScriptedRouting.State {
    fileprivate mutating func count() throws(ReachabilityError) {
        queryCount += 1
        if let error { throw error }
    }

    /// Records a query about the host; a query that counts fails if the script says so.
    fileprivate mutating func note<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) {
        switch query {
        case .sourceAddresses(let query, _): sourceQueries.append(query.packet)
        case .connect(let query, _): connectQueries.append(query)
        case .links, .interfaceIndex: try count()
        default: break
        }
    }

    /// Answers a query, and records it without the properties that only select the answer.
    fileprivate mutating func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        // Few scripts have the routes of the host's own addresses, which every arriving packet would need.
        guard query.inputInterface == 0 else {
            throw ReachabilityError(
                .undecided, operation: "find what becomes of a packet",
                message: "the script has no such answer")
        }
        var plain = query
        (plain.selectsNexthop, plain.wantsEntry) = (false, false)
        guard query.selectsNexthop else {
            queries.append(plain)
            try count()
            let scripted = nextAnswer(to: query)
            lastEntry = scripted.map { (plain.loose, $0) }
            if let scripted { return try scripted.get() }
            return try tables?.answer(to: query) ?? .rejected(.noRoute)
        }
        choiceQueries.append(plain)
        if let error { throw error }
        let entry = lastEntry.flatMap { $0.query == plain.loose ? $0.answer : nil }
        guard let scripted = script.choices[query.destination] ?? entry else {
            return try tables?.answer(to: query) ?? .rejected(.noRoute)
        }
        return try scripted.get().with { $0.source = query.source ?? $0.entry?.preferredSource }
    }

    private mutating func nextAnswer(to query: RouteQuery) -> ScriptedRouting.Answer? {
        if let source = query.source, let answer = script.answersBySource[source] { return answer }
        if query.outputInterface != 0, let bound = script.boundAnswers[query.outputInterface] { return bound }
        guard let answers = script.answers[query.destination], let first = answers.first else { return nil }
        if answers.count > 1 { script.answers[query.destination] = Array(answers.dropFirst()) }
        return first
    }

    fileprivate mutating func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try count()
        if let absences = script.absences[index], absences > 0 {
            script.absences[index] = absences - 1
            return nil
        }
        if let error = script.interfaceError { throw error }
        guard let facts = script.interfaces.first(where: { $0.link.index == index }) else {
            return try tables?.facts(aboutInterface: index, detail: detail)
        }
        guard detail == .flags else { return facts }
        // The live source also omits ports and Wi-Fi, unless a report needs them.
        return InterfaceFacts(
            link: facts.link,
            lowers: facts.lowers,
            isCellularDevice: facts.isCellularDevice,
            hasPlaceholderAddresses: facts.hasPlaceholderAddresses
        )
    }
}

extension RouteQuery {
    /// The query without strictness, to compare it with the query about a packet.
    fileprivate var loose: RouteQuery {
        var query = self
        query.isStrict = false
        return query
    }
}

extension HostQuery {
    /// The answer of a source that does not know it.
    package var unknown: Answer {
        switch self {
        case .interface(_, _, let give): give(nil)
        case .links(let give): give([])
        case .rules(let give): give([])
        case .forwardingEnds(_, let give): give([])
        case .wireGuardPeers(_, let give): give(nil)
        case .hostRoutes(_, let give), .sourceAddresses(_, let give): give([])
        case .multipathHashPolicy(_, let give): give(nil)
        case .refusingRoutes(_, let give), .routes(_, let give): give([])
        case .askingUser(let give), .interfaceIndex(_, let give): give(nil)
        case .addresses(let give): give([])
        case .inputSettings(_, let give): give(nil)
        case .connect(_, let give): give(nil)
        case .answerRecord(let give): give(nil)
        case .hardwareAddresses(let give): give(nil)
        case .ssid(_, let give): give(nil)
        }
    }
}
