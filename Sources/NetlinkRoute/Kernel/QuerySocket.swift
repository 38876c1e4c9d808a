// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// One socket for questions to the kernel, owned by whoever holds the value.
///
/// The kernel's counterpart is a NETLINK_ROUTE socket without multicast groups.
package struct QuerySocket: ~Copyable {
    private let handle: OpaquePointer

    /// Opens a socket in the calling thread's network namespace, where it stays.
    package init() throws(RoutingFault) {
        var fault = cnl_fault()
        guard let handle = cnl_query_open(&fault) else {
            throw RoutingFault("open a netlink socket", fault)
        }
        self.handle = handle
    }

    deinit {
        cnl_query_close(handle)
    }

    /// Whether the kernel checks requests strictly, and so can filter dumps.
    package var isStrict: Bool {
        cnl_query_is_strict(handle)
    }

    /// Asks which way a packet would go.
    ///
    /// - Parameters:
    ///   - query: The packet and its socket.
    ///   - wantsEntry: Whether to be told the table's entry with all its legs, and not the one leg chosen.
    /// - Returns: The kernel's answer.
    /// - Throws: A fault when it gave none.
    package mutating func route(
        _ query: RouteQuery,
        wantsEntry: Bool
    ) throws(RoutingFault) -> RouteAnswer {
        var answer = cnl_route()
        if let rejection = try ask(query, wantsEntry: wantsEntry, &answer) { return .rejected(rejection) }
        return .route(Route(answer))
    }

    /// Asks for the table's entry with all its nexthops.
    ///
    /// With nexthop_compat_mode=0 an entry names its nexthop object and nothing else: that is asked for too.
    package mutating func entry(_ query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = try route(query, wantsEntry: true)
        guard case .route(var route) = answer, route.nexthopID != 0, route.nexthops.isEmpty,
            route.type == .unicast
        else { return answer }
        guard let nexthops = try legs(ofNexthop: route.nexthopID), !nexthops.isEmpty else {
            return try self.route(query, wantsEntry: false)
        }
        route.nexthops = nexthops
        return .route(route)
    }

    /// Asks which way a packet would go, for the rules alone; `nil` when the entry names a nexthop object and
    /// not its legs.
    package mutating func outline(_ query: RouteQuery) throws(RoutingFault) -> RouteSummary? {
        var answer = cnl_route()
        if let rejection = try ask(query, wantsEntry: true, &answer) { return .rejected(rejection) }
        return RouteSummary(answer)
    }

    /// Asks, and leaves the answer in the shim's form, whose legs lie in the socket's buffer.
    private mutating func ask(
        _ query: RouteQuery,
        wantsEntry: Bool,
        _ answer: inout cnl_route
    ) throws(RoutingFault) -> RouteRejection? {
        var request = cnl_route_request(query, wantsEntry: wantsEntry)
        var fault = cnl_fault()
        switch cnl_query_route(handle, &request, &answer, &fault) {
        case CNL_ANSWERED:
            return nil
        case CNL_REFUSED:
            if let rejection = RouteRejection(kernelError: fault.number) { return rejection }
        default:
            break
        }
        throw RoutingFault("ask for a route", fault)
    }

    /// Asks for one interface by its index; `nil` when there is none.
    package mutating func link(index: UInt32) throws(RoutingFault) -> Link? {
        // No interface has such a number, and the kernel would take the question for one without an index.
        guard index > 0, index <= Int32.max else { return nil }
        var answer = cnl_link()
        var fault = cnl_fault()
        return try linkAnswer(cnl_query_link(handle, index, nil, &answer, &fault), answer, fault)
    }

    /// Asks for one interface by its name, or by an alternative name; `nil` when there is none.
    package mutating func link(named name: String) throws(RoutingFault) -> Link? {
        // The kernel refuses names it could not have given, with an errno of its own.
        guard !name.isEmpty, name.utf8.count < 128, !name.utf8.contains(0) else { return nil }
        var answer = cnl_link()
        var fault = cnl_fault()
        let outcome = name.withCString { cnl_query_link(handle, 0, $0, &answer, &fault) }
        if outcome == CNL_REFUSED, fault.number == EINVAL || fault.number == ERANGE {
            // A name that no interface can have, or an alternative name before Linux 5.5.
            return nil
        }
        return try linkAnswer(outcome, answer, fault)
    }

    private func linkAnswer(
        _ outcome: cnl_outcome,
        _ answer: cnl_link,
        _ fault: cnl_fault
    ) throws(RoutingFault) -> Link? {
        switch outcome {
        case CNL_ANSWERED: Link(answer)
        case CNL_REFUSED where fault.number == ENODEV: nil
        default: throw RoutingFault("ask for an interface", fault)
        }
    }

    /// Asks for a nexthop object's legs: its own, or those of its group's members.
    ///
    /// - Returns: The legs, none for a blackhole; `nil` when there is no such object.
    package mutating func legs(ofNexthop id: UInt32) throws(RoutingFault) -> [Nexthop]? {
        var answer = cnl_nexthop()
        guard try nexthop(id, &answer) else { return nil }
        guard answer.group != nil else {
            return answer.leg.interface_index == 0 ? [] : [Nexthop(answer.leg)]
        }
        // The members' ids lie in the socket's buffer, which the next question overwrites.
        var members: [(id: UInt32, weight: UInt16)] = []
        var offset: UInt32 = 0
        var member: (id: UInt32, weight: UInt16) = (0, 0)
        while cnl_nexthop_next_member(&answer, &offset, &member.id, &member.weight) > 0 {
            members.append(member)
        }
        var legs: [Nexthop] = []
        for member in members where try nexthop(member.id, &answer) && answer.leg.interface_index != 0 {
            var leg = Nexthop(answer.leg)
            leg.weight = member.weight
            legs.append(leg)
        }
        return legs
    }

    private mutating func nexthop(_ id: UInt32, _ answer: inout cnl_nexthop) throws(RoutingFault) -> Bool {
        var fault = cnl_fault()
        switch cnl_query_nexthop(handle, id, &answer, &fault) {
        case CNL_ANSWERED: return true
        case CNL_REFUSED where fault.number == ENOENT: return false
        default: throw RoutingFault("ask for a nexthop", fault)
        }
    }
}

// MARK: - Dumps

/// What to dump.
package struct DumpRequest: Hashable, Sendable {
    /// The kernel's tables.
    package enum Table: UInt16, Sendable {
        /// RTM_GETLINK
        case links = 18
        /// RTM_GETADDR
        case addresses = 22
        /// RTM_GETROUTE
        case routes = 26
        /// RTM_GETNEIGH
        case neighbours = 30
        /// RTM_GETRULE
        case rules = 34
        /// RTM_GETNETCONF
        case settings = 82
        /// RTM_GETNEXTHOP
        case nexthops = 106

        /// The table whose entries a message describes; `nil` for a message about none of them.
        init?(of message: NetlinkMessage) {
            // Types come in fours: NEW, DEL, GET, SET.
            self.init(rawValue: message.type & ~3 | 2)
        }
    }

    package var table: Table
    /// The family asked for; `nil` for all.
    package var family: IPAddress.Family?
    /// The routing table asked for; 0 for all.
    ///
    /// Old kernels send all anyway.
    package var routingTable: UInt32 = 0
    /// The interface whose addresses are asked for; 0 for all.
    ///
    /// Old kernels send all anyway.
    package var interfaceIndex: UInt32 = 0

    package init(
        _ table: Table,
        family: IPAddress.Family? = nil,
        routingTable: UInt32 = 0,
        interfaceIndex: UInt32 = 0
    ) {
        self.table = table
        self.family = family
        self.routingTable = routingTable
        self.interfaceIndex = interfaceIndex
    }
}

extension QuerySocket {
    /// Dumps a table and hands out each message, which is valid only during the call.
    ///
    /// - Returns: Whether the table changed meanwhile: entries can be missing or doubled then.
    package mutating func dump(
        _ request: DumpRequest,
        _ body: (NetlinkMessage) -> Void
    ) throws(RoutingFault) -> Bool {
        var wanted = cnl_dump_request()
        wanted.type = request.table.rawValue
        wanted.family = request.family?.rawValue ?? UInt8(AF_UNSPEC)
        wanted.table = request.routingTable
        wanted.interface_index = request.interfaceIndex
        var report = cnl_dump_report()
        var fault = cnl_fault()
        let outcome = withMessageHandler(body) { handler, context in
            cnl_query_dump(handle, &wanted, handler, context, &report, &fault)
        }
        guard outcome == CNL_ANSWERED else {
            throw RoutingFault("dump the kernel's \(request.table)", fault)
        }
        return report.is_interrupted
    }
}
