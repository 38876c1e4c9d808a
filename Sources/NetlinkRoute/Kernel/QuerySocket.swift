// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A NETLINK_ROUTE socket for requests to the kernel.
///
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

    /// Whether the kernel checks requests strictly and filters dumps (Linux 4.20 and later).
    package var isStrict: Bool {
        cnl_query_is_strict(handle)
    }

    /// Joins a group, whose notifications then queue up with the answers; `false` on failure.
    mutating func follow(_ group: EventGroup) -> Bool {
        cnl_query_follow(handle, group.number)
    }

    /// Reads the queued notifications without waiting.
    mutating func catchUp() throws(RoutingFault) {
        let status = cnl_query_catch_up(handle)
        guard status == 0 else { throw RoutingFault(operation: "read notifications", number: -status) }
    }

    /// What the notifications said that were read since the last call; `nil` where there were none.
    mutating func takeChanges() -> cnl_query_changes? {
        guard cnl_query_has_changes(handle) else { return nil }
        var changes = cnl_query_changes()
        return cnl_query_take_changes(handle, &changes) ? changes : nil
    }

    /// Looks up the route of a packet in the detail asked for.
    package mutating func lookUp(
        _ query: RouteQuery,
        _ detail: LookupDetail
    ) throws(RoutingFault) -> RouteLookup {
        if detail == .summary, let summary = try summary(query) { return summary }
        if detail == .entryAndSource, let both = try entryAndSource(query) { return both }
        guard detail != .choice else { return RouteLookup(try route(query, wantsEntry: false)) }
        var lookup = RouteLookup(try entry(query))
        if let route = lookup.route {
            lookup.dependsOnSource = query.dependsOnSource(route.type, origin: route.origin)
        }
        return lookup
    }

    /// Looks up the route of a packet.
    ///
    /// - Parameters:
    ///   - query: The packet and its socket.
    ///   - wantsEntry: Whether to return the table's entry with all nexthops, and not the nexthop chosen.
    /// - Returns: The kernel's answer.
    /// - Throws: A fault when the kernel gives no answer, or cannot look up the protocol or the ports.
    package mutating func route(
        _ query: RouteQuery,
        wantsEntry: Bool
    ) throws(RoutingFault) -> RouteAnswer {
        var answer = cnl_route()
        if let rejection = try lookUp(query, wantsEntry: wantsEntry, &answer) { return .rejected(rejection) }
        return .route(Route(answer))
    }

    /// Looks up the table's entry with all its nexthops.
    ///
    /// With the sysctl nexthop_compat_mode=0 an entry names its nexthop object only; the object is looked up too.
    package mutating func entry(_ query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = try route(query, wantsEntry: true)
        guard case .route(var route) = answer, route.namesNexthopObject else { return answer }
        guard let nexthops = try self.nexthops(ofObject: route.nexthopID), !nexthops.isEmpty else {
            return try self.route(query, wantsEntry: false)
        }
        route.nexthops = nexthops
        return .route(route)
    }

    /// Looks up the route of a packet, without the details; `nil` when the entry names a nexthop object and not
    /// its nexthops.
    package mutating func summary(_ query: RouteQuery) throws(RoutingFault) -> RouteLookup? {
        var answer = cnl_route()
        if let rejection = try lookUp(query, wantsEntry: true, &answer) {
            return RouteLookup(RouteSummary.rejected(rejection))
        }
        guard let summary = RouteSummary(answer) else { return nil }
        var lookup = RouteLookup(summary)
        lookup.dependsOnSource = query.dependsOnSource(
            RouteType(rawValue: answer.type), origin: answer.protocol)
        return lookup
    }

    /// Leaves the answer in the shim's form, whose nexthops lie in the socket's buffer.
    mutating func lookUp(
        _ query: RouteQuery,
        wantsEntry: Bool,
        _ answer: inout cnl_route
    ) throws(RoutingFault) -> RouteRejection? {
        var request = cnl_route_request(query, wantsEntry: wantsEntry)
        var fault = cnl_fault()
        let outcome = cnl_query_route(handle, &request, &answer, &fault)
        if outcome == CNL_ANSWERED { return nil }
        // The kernel looks up a few protocols only, and refuses others as it does a missing address family.
        let isUnsupportedProtocol = fault.number == EOPNOTSUPP && query.ipProtocol != nil
        if outcome == CNL_REFUSED, !isUnsupportedProtocol,
            let rejection = RouteRejection(kernelError: fault.number)
        {
            return rejection
        }
        throw RoutingFault("ask for a route", fault)
    }

    /// Looks up the entry and the packet's own choice with one datagram of questions; `nil` where that is not enough.
    private mutating func entryAndSource(_ query: RouteQuery) throws(RoutingFault) -> RouteLookup? {
        guard query.source == nil, query.ipProtocol == nil, query.sourcePort == nil,
            query.destinationPort == nil
        else { return nil }
        var request = cnl_route_request(query, wantsEntry: true)
        try queue(&request)
        request.wants_entry = false
        try queue(&request)
        try sendQueued()
        var answer = cnl_route()
        let entry = try nextRoute(&answer)
        if case .overrun = entry { return nil }
        // The next answer overwrites the nexthops in the socket's buffer.
        let route = Route(answer)
        let choice = try nextRoute(&answer)
        if case .rejected(let rejection) = entry, rejection != .noFamily {
            return RouteLookup(RouteSummary.rejected(rejection))
        }
        guard case .entry = entry, case .entry = choice, !route.namesNexthopObject else { return nil }
        var lookup = RouteLookup(.route(route))
        lookup.dependsOnSource = query.dependsOnSource(route.type, origin: route.origin)
        lookup.selectedSource = Route(answer).preferredSource
        return lookup
    }

    /// Queues a question, at most CNL_QUEUE_LIMIT, without checking that the kernel knows its flow.
    private mutating func queue(_ request: inout cnl_route_request) throws(RoutingFault) {
        // As the shim does for a question alone.
        if request.family == IPAddress.Family.v6.rawValue { request.ip_protocol = UInt8(IPPROTO_UDP) }
        guard cnl_query_queue_route(handle, &request) else {
            throw RoutingFault(operation: "queue a question", number: ENOMEM)
        }
        request.ip_protocol = 0
    }

    private mutating func sendQueued() throws(RoutingFault) {
        let status = cnl_query_send_queued(handle)
        guard status == 0 else { throw RoutingFault(operation: "ask for routes", number: -status) }
    }

    /// Asks with one datagram about the entries that plain packets to several addresses take.
    ///
    /// Read the answers with ``nextEntry(_:)``.
    ///
    /// - Parameter destinations: The addresses, at most CNL_QUEUE_LIMIT.
    /// - Throws: A fault when they cannot be sent.
    mutating func askForEntries(_ destinations: [IPAddress]) throws(RoutingFault) {
        for destination in destinations {
            let family = destination.family.rawValue
            guard cnl_query_queue_entry(handle, family, destination.high, destination.low) else {
                throw RoutingFault(operation: "queue a question", number: ENOMEM)
            }
        }
        try sendQueued()
    }

    /// Reads the next answer to ``askForEntries(_:)``, and leaves an entry in the shim's form.
    mutating func nextEntry(_ entry: inout cnl_entry) throws(RoutingFault) -> QueuedAnswer {
        let status = cnl_query_next_entry(handle, &entry)
        if status == 0 { return .entry }
        if status > 0 { return RouteRejection(kernelError: status).map(QueuedAnswer.rejected) ?? .refused }
        guard status == -ENOBUFS else { throw RoutingFault(operation: "ask for routes", number: -status) }
        return .overrun
    }

    /// Looks up the entry for a plain packet, once.
    ///
    /// Returns `.refused` on any failure; the caller repeats the lookup with `lookUp`, which reports the error.
    mutating func entry(_ destination: IPAddress, _ entry: inout cnl_entry) -> QueuedAnswer {
        let family = destination.family.rawValue
        let status = cnl_query_entry(handle, family, destination.high, destination.low, &entry)
        if status == 0 { return .entry }
        return RouteRejection(kernelError: status).map(QueuedAnswer.rejected) ?? .refused
    }

    /// The answer to one of several questions.
    enum QueuedAnswer {
        /// An entry, in the shim's form.
        case entry
        case rejected(RouteRejection)
        /// No answer: the question has to be asked alone.
        case refused
        /// Notifications filled the buffer: this and the further answers may be lost.
        case overrun
    }

    /// Reads the next answer to a queued question, and leaves a route in the shim's form.
    private mutating func nextRoute(_ answer: inout cnl_route) throws(RoutingFault) -> QueuedAnswer {
        var fault = cnl_fault()
        switch cnl_query_next_route(handle, &answer, &fault) {
        case CNL_ANSWERED: return .entry
        case CNL_REFUSED:
            return RouteRejection(kernelError: fault.number).map(QueuedAnswer.rejected) ?? .refused
        case _ where fault.number == ENOBUFS: return .overrun
        default: throw RoutingFault("ask for routes", fault)
        }
    }

    /// Returns the interface with an index; `nil` when there is none.
    package mutating func link(index: UInt32) throws(RoutingFault) -> Link? {
        // No interface has such an index, and the kernel would read it as a request without one.
        guard index > 0, index <= Int32.max else { return nil }
        return try link(index, nil)
    }

    /// Returns the interface with a name or alternative name; `nil` when there is none.
    package mutating func link(named name: String) throws(RoutingFault) -> Link? {
        // The kernel refuses impossible names with other errnos than ENODEV.
        guard !name.isEmpty, name.utf8.count < 128, !name.utf8.contains(0) else { return nil }
        return try link(0, name)
    }

    private mutating func link(_ index: UInt32, _ name: String?) throws(RoutingFault) -> Link? {
        var (answer, fault) = (cnl_link(), cnl_fault())
        switch cnl_query_link(handle, index, name, &answer, &fault) {
        case CNL_ANSWERED: return Link(answer)
        case CNL_REFUSED where fault.number == ENODEV: return nil
        // An impossible name, or an alternative name before Linux 5.5.
        case CNL_REFUSED where name != nil && [EINVAL, ERANGE].contains(fault.number): return nil
        default: throw RoutingFault("ask for an interface", fault)
        }
    }

    /// Returns the nexthops of a nexthop object: its own, or those of its group's members.
    ///
    /// - Returns: The nexthops, none for a blackhole; `nil` when there is no such object.
    package mutating func nexthops(ofObject id: UInt32) throws(RoutingFault) -> [Nexthop]? {
        var answer = cnl_nexthop_object()
        guard try object(id, &answer) else { return nil }
        guard answer.group != nil else {
            return answer.nexthop.interface_index == 0 ? [] : [Nexthop(answer.nexthop)]
        }
        var nexthops: [Nexthop] = []
        // The next request overwrites the members in the socket's buffer.
        for member in answer.members {
            guard try object(member.id, &answer), answer.nexthop.interface_index != 0 else { continue }
            var nexthop = Nexthop(answer.nexthop)
            nexthop.weight = member.weight
            nexthops.append(nexthop)
        }
        return nexthops
    }

    private mutating func object(
        _ id: UInt32,
        _ answer: inout cnl_nexthop_object
    ) throws(RoutingFault) -> Bool {
        var fault = cnl_fault()
        switch cnl_query_nexthop_object(handle, id, &answer, &fault) {
        case CNL_ANSWERED: return true
        case CNL_REFUSED where fault.number == ENOENT: return false
        default: throw RoutingFault("ask for a nexthop object", fault)
        }
    }
}

extension Route {
    /// Whether the kernel named a nexthop object and not its nexthops.
    fileprivate var namesNexthopObject: Bool {
        nexthopID != 0 && nexthops.isEmpty && type == .unicast
    }
}

// MARK: - Dumps

/// What to dump.
package struct DumpRequest: Hashable, Sendable {
    /// A table of the kernel, by the type of the request that dumps it.
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
        package init?(of message: NetlinkMessage) {
            // Types come in fours: NEW, DEL, GET, SET.
            self.init(rawValue: message.type & ~3 | 2)
        }
    }

    package var table: Table
    /// The family to dump; `nil` for all.
    package var family: IPAddress.Family?
    /// The interface whose addresses to dump; 0 for all.
    ///
    /// Kernels before 4.20 send all addresses.
    package var interfaceIndex: UInt32 = 0

    package init(_ table: Table, family: IPAddress.Family? = nil, interfaceIndex: UInt32 = 0) {
        self.table = table
        self.family = family
        self.interfaceIndex = interfaceIndex
    }
}

extension QuerySocket {
    /// Dumps a table.
    ///
    /// - Parameters:
    ///   - request: What to dump.
    ///   - body: Receives each message, valid during the call.
    /// - Returns: Whether the table changed during the dump: entries can be missing or doubled then.
    /// - Throws: A fault when the kernel refuses the dump, or the dump fails.
    package mutating func dump(
        _ request: DumpRequest,
        _ body: (NetlinkMessage) -> Void
    ) throws(RoutingFault) -> Bool {
        var wanted = cnl_dump_request(
            type: request.table.rawValue,
            family: request.family?.rawValue ?? UInt8(AF_UNSPEC),
            interface_index: request.interfaceIndex
        )
        var isInterrupted = false
        var fault = cnl_fault()
        let outcome = withMessageHandler(body) { handler, context in
            cnl_query_dump(handle, &wanted, handler, context, &isInterrupted, &fault)
        }
        guard outcome == CNL_ANSWERED else {
            throw RoutingFault("dump the kernel's \(request.table)", fault)
        }
        return isInterrupted
    }
}
