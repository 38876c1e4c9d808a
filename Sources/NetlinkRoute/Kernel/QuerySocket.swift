// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A NETLINK_ROUTE socket for requests to the kernel.
package struct QuerySocket: ~Copyable {
    private let handle: OpaquePointer

    /// Opens a socket in the calling thread's network namespace, where it stays.
    package init() throws(ReachabilityError) {
        var fault = cnl_fault()
        guard let handle = cnl_query_open(&fault) else {
            throw ReachabilityError("open a netlink socket", fault)
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
    mutating func catchUp() throws(ReachabilityError) {
        let status = cnl_query_catch_up(handle)
        guard status == 0 else { throw ReachabilityError(operation: "read notifications", number: -status) }
    }

    /// What the notifications said that were read since the last call; `nil` where there were none.
    mutating func takeChanges() -> cnl_query_changes? {
        guard cnl_query_has_changes(handle) else { return nil }
        var changes = cnl_query_changes()
        return cnl_query_take_changes(handle, &changes) ? changes : nil
    }

    /// Looks up the routes of packets, up to 64 with one datagram.
    ///
    /// - Parameter queries: The packets and their sockets.
    /// - Returns: The kernel's answers.
    /// - Throws: An error when answers are missing, or the kernel cannot look up a protocol or port.
    mutating func round(of queries: [RouteQuery]) throws(ReachabilityError) -> LookupRound {
        var round = LookupRound(queries)
        var fault = cnl_fault()
        let outcome = withUnsafeTemporaryAllocation(of: cnl_route_request.self, capacity: queries.count) {
            requests in
            for (index, query) in queries.enumerated() {
                requests.initializeElement(at: index, to: cnl_route_request(query))
            }
            return withUnsafeMutablePointer(to: &round) { round in
                cnl_query_routes(
                    handle, requests.baseAddress.unsafelyUnwrapped, queries.count,
                    { index, route, refusal, context in
                        guard let context else { return }
                        let round = context.assumingMemoryBound(to: LookupRound.self)
                        round.pointee.take(index, route, refusal)
                    },
                    round, &fault)
            }
        }
        guard outcome == CNL_ANSWERED else { throw ReachabilityError("ask for a route", fault) }
        for (index, object) in round.objects {
            let answer = Result { () throws(ReachabilityError) in
                try resolve(queries[index], object, round.answers[index])
            }
            round.answers[index] = answer.flatMap(\.self)
        }
        return round
    }

    /// Looks up the route of one packet.
    package mutating func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        try round(of: [query]).answers[0].get()
    }

    /// Looks up the nexthops of an entry that names a nexthop object only.
    private mutating func resolve(
        _ query: RouteQuery,
        _ object: UInt32,
        _ answer: RoutingResult
    ) throws(ReachabilityError) -> RoutingResult {
        if let nexthops = try nexthops(ofObject: object), !nexthops.isEmpty {
            return answer.map { $0.with { $0.nexthops = nexthops } }
        }
        return .success(try self.answer(to: query.forPacket))
    }

    /// Returns the interface with an index; `nil` when there is none.
    package mutating func link(index: UInt32) throws(ReachabilityError) -> Link? {
        // No interface has such an index, and the kernel would read it as a request without one.
        guard index > 0, index <= Int32.max else { return nil }
        return try link(index, nil)
    }

    /// Returns the interface with a name or alternative name; `nil` when there is none.
    package mutating func link(named name: String) throws(ReachabilityError) -> Link? {
        // The kernel refuses impossible names with other errnos than ENODEV.
        guard !name.isEmpty, name.utf8.count < 128, !name.utf8.contains(0) else { return nil }
        return try link(0, name)
    }

    private mutating func link(_ index: UInt32, _ name: String?) throws(ReachabilityError) -> Link? {
        var (answer, fault) = (cnl_link(), cnl_fault())
        switch cnl_query_link(handle, index, name, &answer, &fault) {
        case CNL_ANSWERED: return Link(answer)
        case CNL_REFUSED where fault.number == ENODEV: return nil
        // An impossible name, or an alternative name before Linux 5.5.
        case CNL_REFUSED where name != nil && [EINVAL, ERANGE].contains(fault.number): return nil
        default: throw ReachabilityError("ask for an interface", fault)
        }
    }

    /// Returns the nexthops of a nexthop object: its own, or those of its group's members.
    ///
    /// - Returns: The nexthops, none for a blackhole; `nil` when there is no such object.
    package mutating func nexthops(ofObject id: UInt32) throws(ReachabilityError) -> [Nexthop]? {
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
    ) throws(ReachabilityError) -> Bool {
        var fault = cnl_fault()
        switch cnl_query_nexthop_object(handle, id, &answer, &fault) {
        case CNL_ANSWERED: return true
        case CNL_REFUSED where fault.number == ENOENT: return false
        default: throw ReachabilityError("ask for a nexthop object", fault)
        }
    }
}

/// The answers to some queries, as they arrive.
struct LookupRound {
    private let queries: [RouteQuery]
    /// The shim hands out an answer to each before it returns without a fault.
    var answers: [RoutingResult]
    /// The entries that name a nexthop object only, by the index of their query.
    fileprivate private(set) var objects: [(index: Int, id: UInt32)] = []

    fileprivate init(_ queries: [RouteQuery]) {
        self.queries = queries
        answers = []
        answers.reserveCapacity(queries.count)
    }

    fileprivate mutating func take(
        _ index: Int,
        _ route: UnsafePointer<cnl_route>?,
        _ refusal: UnsafePointer<cnl_fault>?
    ) {
        let answer: RoutingResult
        if let route {
            answer = .success(.taken(RouteMatch(route.pointee, queries[index])))
            if !queries[index].selectsNexthop, route.pointee.namesNexthopObject {
                objects.append((index, route.pointee.nexthop_id))
            }
        } else if let refusal {
            answer = Self.answer(refusal.pointee, queries[index])
        } else {
            return
        }
        // They come in order, unless some are sent again: the places of those are filled later.
        if index == answers.count {
            answers.append(answer)
        } else {
            while answers.count <= index { answers.append(.success(.rejected(.noRoute))) }
            answers[index] = answer
        }
    }

    private static func answer(_ refusal: cnl_fault, _ query: RouteQuery) -> RoutingResult {
        // The kernel looks up a few protocols only, and refuses others as it does a missing address family.
        let isUnsupportedProtocol = refusal.number == EOPNOTSUPP && query.ipProtocol != nil
        if !isUnsupportedProtocol, let rejection = RouteRejection(kernelError: refusal.number) {
            return .success(.rejected(rejection))
        }
        return .failure(ReachabilityError("ask for a route", refusal))
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
    /// - Throws: An error when the kernel refuses the dump, or the dump fails.
    package mutating func dump(
        _ request: DumpRequest,
        _ body: (NetlinkMessage) -> Void
    ) throws(ReachabilityError) -> Bool {
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
            throw ReachabilityError("dump the kernel's \(request.table)", fault)
        }
        return isInterrupted
    }
}
