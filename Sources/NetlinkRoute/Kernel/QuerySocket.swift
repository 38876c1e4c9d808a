// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A netlink socket for requests to the kernel.
package struct QuerySocket: ~Copyable {
    let handle: OpaquePointer

    /// Opens a NETLINK_ROUTE socket in the calling thread's network namespace, where it stays.
    package init() throws(ReachabilityError) {
        try self.init(netlinkProtocol: NETLINK_ROUTE)
    }

    /// Opens a socket of a netlink protocol.
    init(netlinkProtocol: Int32) throws(ReachabilityError) {
        var fault = cnl_fault()
        guard let handle = cnl_query_open(netlinkProtocol, &fault) else {
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
        let isAnswered = withUnsafeTemporaryAllocation(of: cnl_route_request.self, capacity: queries.count) {
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
        guard isAnswered else { throw ReachabilityError("ask for a route", fault) }
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
        var body = ifinfomsg()
        body.ifi_index = Int32(index)
        var attributes = [Request.Attribute.withoutStatistics]
        if let name {
            let type = name.utf8.count < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME
            attributes.append(Request.Attribute(type, text: name))
        }
        // An impossible name, or an alternative name before Linux 5.5.
        let refusalsOfNames = name == nil ? [] : [EINVAL, ERANGE]
        let report = try value(
            Request(RTM_GETLINK, body, attributes), "ask for an interface",
            missingFor: [ENODEV] + refusalsOfNames, LinkReport.init)
        return report?.link
    }

    /// Returns the nexthops of a nexthop object: its own, or those of its group's members.
    ///
    /// - Returns: The nexthops, none for a blackhole; `nil` when there is no such object.
    package mutating func nexthops(ofObject id: UInt32) throws(ReachabilityError) -> [Nexthop]? {
        guard let object = try object(id) else { return nil }
        guard case .group(let members) = object.kind else { return object.nexthop.map { [$0] } ?? [] }
        var nexthops: [Nexthop] = []
        for member in members {
            guard var nexthop = try self.object(member.id)?.nexthop else { continue }
            nexthop.weight = member.weight
            nexthops.append(nexthop)
        }
        return nexthops
    }

    private mutating func object(_ id: UInt32) throws(ReachabilityError) -> NexthopObject? {
        try value(
            Request(RTM_GETNEXTHOP, nhmsg(), [Request.Attribute(NHA_ID, id)]), "ask for a nexthop object",
            missingFor: [ENOENT], NexthopObject.init)
    }
}

extension NexthopObject {
    /// The nexthop of an object that is not a group; `nil` for one without an interface.
    fileprivate var nexthop: Nexthop? {
        if case .single(let nexthop) = kind, nexthop.interfaceIndex != 0 { nexthop } else { nil }
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
