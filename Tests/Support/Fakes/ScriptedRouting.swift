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
        /// The source addresses that the kernel can select.
        package var sources: [IPAddress] = []
        /// The addresses of this host.
        package var addresses: [InterfaceAddress] = []
        /// What connect(2) gives a socket, by destination.
        package var connections: [IPAddress: ConnectOutcome] = [:]
        /// The peers of WireGuard interfaces.
        package var wireGuardPeers: [UInt32: WireGuardPeers] = [:]
        /// The error of every query about such peers.
        package var peersError: ReachabilityError?
        /// The remote addresses of connected sockets.
        package var connectedPeers: [IPAddress] = []
        /// The hardware addresses of neighbours; `nil` if none are known.
        package var hardwareAddresses: [Neighbour.Key: [UInt8]]?
        /// The nexthop and source that a packet gets, by destination.
        package var choices: [IPAddress: Answer]
        package var interfaces: [InterfaceFacts]
        /// The facts that come with the answers, for each round in order.
        package var readings: [[InterfaceFacts]] = []
        /// How many times an interface is reported missing before it is found.
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
        /// Answers what the script does not; without it there is no route and no interface.
        var tables: SnapshotRouting?
        var error: ReachabilityError?
        var queries: [RouteQuery] = []
        var choiceQueries: [RouteQuery] = []
        /// The scripted entry of the last query, which its packet takes unless the script has a choice.
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

    /// Makes every query fail; `nil` ends that.
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

    /// The queries about what connect(2) gives so far, in order.
    package var connectQueries: [RouteQuery] { state.withLock { $0.connectQueries } }

    /// The destinations looked up since the last call.
    package func takeAsked() -> [IPAddress] {
        state.withLock { state in
            defer { (state.queries, state.choiceQueries) = ([], []) }
            return state.queries.map(\.destination)
        }
    }

    /// The number of queries of all kinds since the last call; an entry and the route of its packet are one.
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

    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try state.withLock { (state) throws(ReachabilityError) in
            state.sourceQueries.append(query)
            return try state.tables?.sourceAddresses(for: query, after: answer) ?? state.script.sources
        }
    }

    package func connect(_ query: RouteQuery) -> ConnectOutcome? {
        state.withLock { state in
            state.connectQueries.append(query)
            return state.script.connections[query.destination]
        }
    }

    package func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try state.withLock { (state) throws(ReachabilityError) in
            try state.tables?.addresses() ?? state.script.addresses
        }
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try state.withLock { (state) throws(ReachabilityError) in
            try state.facts(aboutInterface: index, detail: detail)
        }
    }

    package func rules() throws(ReachabilityError) -> [Rule] {
        try state.withLock { (state) throws(ReachabilityError) in
            if let error = state.script.rulesError { throw error }
            return try state.tables?.rules() ?? []
        }
    }

    package func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers? {
        try state.withLock { (state) throws(ReachabilityError) in
            if let error = state.script.peersError { throw error }
            return state.script.wireGuardPeers[index]
        }
    }

    package func connectedPeers() -> [IPAddress] {
        state.withLock { $0.script.connectedPeers }
    }

    package func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]? {
        state.withLock { $0.script.hardwareAddresses }
    }

    package func links() throws(ReachabilityError) -> [Link] {
        try state.withLock { (state) throws(ReachabilityError) in
            try state.count()
            return try state.tables?.links() ?? state.script.interfaces.map(\.link)
        }
    }
}

extension ScriptedRouting.State {
    fileprivate mutating func count() throws(ReachabilityError) {
        queryCount += 1
        if let error { throw error }
    }

    /// Answers a query, and notes it without what is asked about the packet.
    fileprivate mutating func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
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
        // The live kernel is not asked for ports and Wi-Fi either, unless a report needs them.
        return InterfaceFacts(
            link: facts.link,
            lowers: facts.lowers,
            isCellularDevice: facts.isCellularDevice,
            hasPlaceholderAddresses: facts.hasPlaceholderAddresses
        )
    }
}

extension RouteQuery {
    /// The query without strictness, which the query about a packet lacks.
    fileprivate var loose: RouteQuery {
        var query = self
        query.isStrict = false
        return query
    }
}
