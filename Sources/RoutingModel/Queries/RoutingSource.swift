// SPDX-License-Identifier: Apache-2.0

/// Where facts come from: the live kernel, a recording or a simulated network.
///
/// `Known` asks through this protocol for what an evaluation lacks. Evaluations cannot ask, and cannot distinguish the
/// sources.
package protocol RoutingSource: Sendable {
    // MARK: What every answer needs

    /// Answers queries about the routes of packets.
    ///
    /// - Parameters:
    ///   - lookups: The queries, whose results this sets.
    ///   - first: The index of the first one to answer; those before it keep their results.
    /// - Returns: The facts about interfaces that the source has at hand, as current as the answers. Facts that are
    ///   asked for later can be newer: a cable can be unplugged in between, which changes the route too.
    /// - Throws: An error when no query can be answered.
    func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading]

    /// Returns the facts about an interface; `nil` when no interface has that index.
    func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts?

    // MARK: What paths need

    /// Lists every interface, in no particular order.
    func links() throws(ReachabilityError) -> [Link]

    // MARK: What the carriers of tunnels need

    /// Lists the policy rules of both families, in the kernel's order.
    func rules() throws(ReachabilityError) -> [Rule]

    /// Lists the ends that the forwarding table of a tunnel has, by remote address and interface; empty where it is not
    /// known, and by default.
    func forwardingEnds(ofInterface index: UInt32) throws(ReachabilityError) -> Set<TunnelEnds>

    /// Lists the peers of a WireGuard interface; `nil` where they are not shown, and by default.
    func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers?

    /// Lists the addresses to which a table has a unicast route of their own that a program added; empty where they are
    /// not known, and by default.
    func hostRoutes(inTable table: UInt32) throws(ReachabilityError) -> [IPAddress]

    /// Lists the remote addresses of the connected sockets of the host, each once, those of UDP first; empty where they
    /// are not known, and by default.
    func connectedPeers() -> [IPAddress]

    // MARK: What routes with several nexthops need

    /// Returns how the kernel chooses one of several nexthops; `nil` where that is not known, and by default.
    func multipathHashPolicy(_ family: IPAddress.Family) -> MultipathHashPolicy?

    // MARK: What the reason of a refusal needs

    /// Lists the routes of types that send nothing, and those of type throw, whose prefix has an address; empty where
    /// they are not known, and by default.
    func refusingRoutes(for destination: IPAddress) throws(ReachabilityError) -> [Route]

    /// The user of a query without one; `nil` where it is not known, and by default.
    var askingUser: UInt32? { get }

    // MARK: What sockets with an address or an interface need

    /// Returns the source addresses that a socket without one can get for a query.
    ///
    /// Several are returned where it is unknown which one the kernel selects, none where it selects none.
    ///
    /// - Parameters:
    ///   - query: The query, without a source.
    ///   - answer: The answer without a source. A rejection leaves the outgoing interface open.
    /// - Returns: The addresses.
    /// - Throws: An error when the kernel gives no answer.
    func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress]

    /// Lists every address of this host.
    func addresses() throws(ReachabilityError) -> [InterfaceAddress]

    /// Finds the index of an interface by its name or an alternative name; `nil` when there is none.
    ///
    /// By default the list of interfaces is searched.
    func interfaceIndex(named name: String) throws(ReachabilityError) -> UInt32?

    // MARK: What packets that arrive need

    /// Returns the settings that decide about packets that arrive on an interface; `nil` when no interface has that
    /// index, and by default.
    func inputSettings(ofInterface index: UInt32) throws(ReachabilityError) -> InputSettings?

    /// Lists the IPv4 routes of a table whose prefix covers an address, in no promised order; empty by default.
    func routes(
        inTable table: UInt32, over address: IPAddress
    ) throws(ReachabilityError) -> [Route]

    // MARK: What reports add

    /// Returns what connect(2) gives a socket of the running kernel; `nil` where no socket can show it, and by default.
    ///
    /// No flags depend on it, but whether a socket can have a source address that is none of the host's.
    func connect(_ query: RouteQuery) throws(ReachabilityError) -> ConnectOutcome?

    // MARK: What evidence needs

    /// Returns what shows whether anything has answered; `nil` where it is not known, and by default.
    func answerRecord() throws(ReachabilityError) -> AnswerRecord?

    // MARK: What identifies a network

    /// Returns the hardware addresses of neighbours; `nil` where none are known, and by default.
    func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]?

    /// Returns the name of the wireless network of an interface; `nil` without one, and by default.
    func ssid(ofInterface index: UInt32) throws(ReachabilityError) -> [UInt8]?
}

extension RoutingSource {
    package func hostRoutes(inTable table: UInt32) throws(ReachabilityError) -> [IPAddress] {
        []
    }

    package func refusingRoutes(for destination: IPAddress) throws(ReachabilityError) -> [Route] {
        []
    }

    package var askingUser: UInt32? { nil }

    package func multipathHashPolicy(_ family: IPAddress.Family) -> MultipathHashPolicy? {
        nil
    }

    package func forwardingEnds(ofInterface index: UInt32) throws(ReachabilityError) -> Set<TunnelEnds> {
        []
    }

    package func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers? {
        nil
    }

    package func connectedPeers() -> [IPAddress] {
        []
    }

    package func connect(_ query: RouteQuery) throws(ReachabilityError) -> ConnectOutcome? {
        nil
    }

    package func answerRecord() throws(ReachabilityError) -> AnswerRecord? {
        nil
    }

    package func inputSettings(ofInterface index: UInt32) throws(ReachabilityError) -> InputSettings? {
        nil
    }

    package func routes(
        inTable table: UInt32, over address: IPAddress
    ) throws(ReachabilityError) -> [Route] {
        []
    }

    package func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]? {
        nil
    }

    package func ssid(ofInterface index: UInt32) throws(ReachabilityError) -> [UInt8]? {
        nil
    }

    package func interfaceIndex(named name: String) throws(ReachabilityError) -> UInt32? {
        try links().first { $0.isNamed(name) }?.index
    }

    /// Answers one query.
    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        var lookups = [RouteLookup(query)]
        _ = try answer(&lookups, from: 0)
        return try lookups[0].result.get()
    }
}

extension [RouteLookup] {
    /// Answers one query after the other.
    package mutating func answer(
        from first: Int,
        _ body: (RouteQuery) throws(ReachabilityError) -> RouteAnswer
    ) {
        for index in indices[first...] {
            self[index].result = Result { () throws(ReachabilityError) in try body(self[index].query) }
        }
    }
}

/// A source that passes on the queries that it does not answer itself.
package protocol ForwardingSource: RoutingSource {
    /// The source that answers them.
    var base: any RoutingSource { get throws(ReachabilityError) }
}

extension ForwardingSource {
    package func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try base.facts(aboutInterface: index, detail: detail)
    }

    package func links() throws(ReachabilityError) -> [Link] {
        try base.links()
    }

    package func rules() throws(ReachabilityError) -> [Rule] {
        try base.rules()
    }

    package func forwardingEnds(ofInterface index: UInt32) throws(ReachabilityError) -> Set<TunnelEnds> {
        try base.forwardingEnds(ofInterface: index)
    }

    package func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers? {
        try base.wireGuardPeers(ofInterface: index)
    }

    package func connectedPeers() -> [IPAddress] {
        (try? base.connectedPeers()) ?? []
    }

    package func hostRoutes(inTable table: UInt32) throws(ReachabilityError) -> [IPAddress] {
        try base.hostRoutes(inTable: table)
    }

    package func refusingRoutes(for destination: IPAddress) throws(ReachabilityError) -> [Route] {
        try base.refusingRoutes(for: destination)
    }

    package var askingUser: UInt32? { (try? base)?.askingUser }

    package func multipathHashPolicy(_ family: IPAddress.Family) -> MultipathHashPolicy? {
        (try? base)?.multipathHashPolicy(family)
    }

    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try base.sourceAddresses(for: query, after: answer)
    }

    package func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try base.addresses()
    }

    package func connect(_ query: RouteQuery) throws(ReachabilityError) -> ConnectOutcome? {
        try base.connect(query)
    }

    package func inputSettings(ofInterface index: UInt32) throws(ReachabilityError) -> InputSettings? {
        try base.inputSettings(ofInterface: index)
    }

    package func routes(
        inTable table: UInt32, over address: IPAddress
    ) throws(ReachabilityError) -> [Route] {
        try base.routes(inTable: table, over: address)
    }

    package func interfaceIndex(named name: String) throws(ReachabilityError) -> UInt32? {
        try base.interfaceIndex(named: name)
    }

    package func answerRecord() throws(ReachabilityError) -> AnswerRecord? {
        try base.answerRecord()
    }

    package func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]? {
        try base.hardwareAddresses()
    }

    package func ssid(ofInterface index: UInt32) throws(ReachabilityError) -> [UInt8]? {
        try base.ssid(ofInterface: index)
    }
}
