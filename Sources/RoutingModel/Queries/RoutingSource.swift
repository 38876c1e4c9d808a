// SPDX-License-Identifier: Apache-2.0

/// A source of facts: the live kernel, a recording or a simulated network.
///
/// `Known` uses this protocol to query the facts that an evaluation needs. Evaluations themselves send no queries,
/// and cannot distinguish the sources.
package protocol RoutingSource: Sendable {
    /// Answers queries about the routes of packets.
    ///
    /// - Parameters:
    ///   - lookups: The queries, whose results this sets.
    ///   - first: The index of the first query to answer. Earlier lookups keep their results.
    /// - Returns: The facts about interfaces that the source already has, as current as the answers. Facts that are
    ///   queried later can be newer: a cable can be unplugged in between, which also changes the route.
    /// - Throws: An error if no query can be answered.
    func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading]

    /// Answers a query about the host: `switch` over it, and call the function of the case with the answer.
    func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer
}

/// A query about the host, for all but the routes of packets.
///
/// The last value of a case is the function that makes the result from the answer. So the compiler checks the type of
/// each answer, and that a source has one for each case.
package enum HostQuery<Answer> {
    // MARK: What every answer needs

    /// The facts about an interface; `nil` when no interface has that index.
    case interface(UInt32, QueryDetail, (InterfaceFacts?) -> Answer)

    // MARK: For paths

    /// Every interface, in no particular order.
    case links(([Link]) -> Answer)

    // MARK: For the carriers of tunnels

    /// The policy rules of both families, in the kernel's order.
    case rules(([Rule]) -> Answer)

    /// The ends that the forwarding table of a tunnel has, by remote address and interface; empty where it is not
    /// known.
    case forwardingEnds(interface: UInt32, (Set<TunnelEnds>) -> Answer)

    /// The peers of a WireGuard interface; `nil` where they are not shown.
    case wireGuardPeers(interface: UInt32, (WireGuardPeers?) -> Answer)

    /// The addresses to which a table has a unicast route of their own that a program added; empty where they are not
    /// known.
    case hostRoutes(table: UInt32, ([IPAddress]) -> Answer)

    // MARK: For routes with several nexthops

    /// How the kernel chooses one of several nexthops; `nil` where that is not known.
    case multipathHashPolicy(IPAddress.Family, (MultipathHashPolicy?) -> Answer)

    // MARK: For the reason of a refusal

    /// The routes of types that send nothing, and those of type throw, whose prefix has one of the addresses; empty
    /// where they are not known.
    case refusingRoutes(over: [IPAddress], ([Route]) -> Answer)

    /// The user of a route query without one; `nil` where it is not known.
    case askingUser((UInt32?) -> Answer)

    // MARK: For sockets with an address or an interface

    /// The source addresses that a socket without one can get.
    ///
    /// There are several where it is unknown which one the kernel selects, and none where it selects none.
    case sourceAddresses(SourceQuery, ([IPAddress]) -> Answer)

    /// Every address of this host.
    case addresses(([InterfaceAddress]) -> Answer)

    /// The index of the interface with a name or an alternative name; `nil` when there is none.
    case interfaceIndex(name: String, (UInt32?) -> Answer)

    // MARK: For packets that arrive

    /// The settings that decide about packets that arrive on an interface; `nil` when no interface has that index.
    case inputSettings(interface: UInt32, (InputSettings?) -> Answer)

    /// The routes of a table whose prefix covers an address, in no promised order; empty where they are not known.
    case routes(TableQuery, ([Route]) -> Answer)

    // MARK: For reports

    /// What connect(2) gives a socket of the running kernel; `nil` where no socket can show it.
    ///
    /// No flags depend on it, but whether a socket can have a source address that is none of the host's.
    case connect(RouteQuery, (ConnectOutcome?) -> Answer)

    // MARK: For evidence

    /// What shows whether anything has answered; `nil` where it is not known.
    case answerRecord((AnswerRecord?) -> Answer)

    // MARK: For the identity of a network

    /// The hardware addresses of neighbours; `nil` where none are known.
    case hardwareAddresses(([Neighbour.Key: [UInt8]]?) -> Answer)

    /// The name of the wireless network of an interface; `nil` without one.
    case ssid(interface: UInt32, ([UInt8]?) -> Answer)
}

/// What decides which source addresses a socket can get.
package struct SourceQuery: Equatable, Sendable, CustomStringConvertible {
    /// The packet, without a source.
    package let packet: RouteQuery
    /// The answer without a source; a rejection leaves the outgoing interface open.
    package let answer: RouteAnswer

    /// Asks for the source addresses of a packet.
    package init(_ packet: RouteQuery, after answer: RouteAnswer) {
        (self.packet, self.answer) = (packet, answer)
    }

    package var description: String { "\(packet.destination)" }
}

/// An address, and the table in which it is looked up.
package struct TableQuery: Equatable, Sendable, CustomStringConvertible {
    /// The table.
    package let table: UInt32
    /// The address.
    package let address: IPAddress

    /// Asks for the routes over an address.
    package init(table: UInt32, address: IPAddress) {
        (self.table, self.address) = (table, address)
    }

    package var description: String { "\(address) in table \(table)" }
}

extension RoutingSource {
    /// Answers one query.
    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        var lookups = [RouteLookup(query)]
        _ = try answer(&lookups, from: 0)
        return try lookups[0].result.get()
    }

    /// Returns the facts about an interface; `nil` when no interface has that index.
    package func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try answer(.interface(index, detail) { $0 })
    }

    /// Lists every interface, in no particular order.
    package func links() throws(ReachabilityError) -> [Link] {
        try answer(.links { $0 })
    }

    /// Finds the index of an interface by its name or an alternative name; `nil` when there is none.
    package func interfaceIndex(named name: String) throws(ReachabilityError) -> UInt32? {
        try answer(.interfaceIndex(name: name) { $0 })
    }

    /// Returns the source addresses that a socket without one can get.
    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try self.answer(.sourceAddresses(SourceQuery(query, after: answer)) { $0 })
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
