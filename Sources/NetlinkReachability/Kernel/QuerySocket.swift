// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// A netlink socket for requests to the kernel.
package struct QuerySocket: ~Copyable {
    let handle: OpaquePointer
    /// How long each attempt of a request waits for an answer.
    let timeout: Duration
    /// Writes what the socket sends and reads; `nil` where that is not asked for.
    let trace: WireTrace?

    /// How long a socket waits for an answer by default: the kernel answers at once.
    package static let answerTimeout = Duration.seconds(1)

    /// Opens a NETLINK_ROUTE socket in the calling thread's network namespace, where it stays.
    package init(timeout: Duration = QuerySocket.answerTimeout) throws(ReachabilityError) {
        try self.init(netlinkProtocol: NETLINK_ROUTE, timeout: timeout)
    }

    /// Opens a socket of a netlink protocol.
    ///
    /// - Parameters:
    ///   - netlinkProtocol: The protocol, such as NETLINK_ROUTE.
    ///   - timeout: How long each of three attempts waits for an answer, in whole milliseconds from 1. A dump is tried
    ///     once. The error is then ETIMEDOUT.
    /// - Throws: An error when no socket can be opened.
    init(netlinkProtocol: Int32, timeout: Duration = QuerySocket.answerTimeout) throws(ReachabilityError) {
        var error = cnl_error()
        // The system waits forever with 0.
        let milliseconds = max(timeout.milliseconds, 1)
        guard let handle = cnl_query_open(netlinkProtocol, milliseconds, &error) else {
            throw ReachabilityError("open a netlink socket", error)
        }
        self.handle = handle
        self.timeout = .milliseconds(milliseconds)
        trace = WireTrace(netlinkProtocol)
        trace?.attach(to: handle)
    }

    /// Exchanges datagrams over a transport in place of a socket, for tests without a kernel.
    init(over transport: cnl_transport) throws(ReachabilityError) {
        var (transport, error) = (transport, cnl_error())
        guard let handle = cnl_query_open_over(&transport, &error) else {
            throw ReachabilityError("allocate a request", error)
        }
        self.handle = handle
        timeout = QuerySocket.answerTimeout
        trace = nil
    }

    deinit {
        cnl_query_close(handle)
    }

    /// Whether the kernel checks requests strictly and filters dumps (Linux 4.20 and later).
    package var isStrict: Bool {
        cnl_query_is_strict(handle)
    }

    /// Overwrites the last answers, which can contain secrets.
    mutating func wipe() {
        cnl_query_wipe(handle)
    }

    /// Joins a group whose notifications are queued together with the answers; `false` on failure.
    mutating func follow(_ group: EventGroup) -> Bool {
        cnl_query_follow(handle, group.number)
    }

    /// Reads the queued notifications without waiting.
    mutating func catchUp() throws(ReachabilityError) {
        let status = cnl_query_catch_up(handle)
        guard status == 0 else { throw ReachabilityError(operation: "read notifications", number: -status) }
    }

    /// Returns the kinds of objects that the notifications since the last call affect.
    mutating func readChanges() -> cnl_query_changes {
        cnl_query_take_changes(handle)
    }

    /// Looks up the routes of packets, up to 64 in one datagram.
    ///
    /// - Parameters:
    ///   - lookups: The packets and their sockets. Receives the kernel's answers.
    ///   - first: The index of the first lookup.
    /// - Throws: An error if answers are missing, or if the kernel cannot look up a protocol or port.
    mutating func answer(_ lookups: inout [RouteLookup], from first: Int) throws(ReachabilityError) {
        trace?.operation = "ask for a route"
        var error = cnl_error()
        var objects: [NamedObject] = []
        let count = lookups.count - first
        let isAnswered = withUnsafeTemporaryAllocation(of: cnl_route_request.self, capacity: count) {
            requests in
            for index in 0..<count {
                requests.initializeElement(at: index, to: cnl_route_request(lookups[first + index].query))
            }
            return lookups.withUnsafeMutableBufferPointer { lookups in
                var answers = LookupAnswers(lookups: .init(rebasing: lookups[first...]))
                let isAnswered = withUnsafeMutablePointer(to: &answers) { answers in
                    cnl_query_routes(
                        handle, requests.baseAddress.unsafelyUnwrapped, count,
                        { index, route, refusal, context in
                            guard let context else { return }
                            let answers = context.assumingMemoryBound(to: LookupAnswers.self)
                            answers.pointee.store(index, route, refusal)
                        },
                        answers, &error)
                }
                objects = answers.objects
                return isAnswered
            }
        }
        guard isAnswered else { throw ReachabilityError("ask for a route", error) }
        for object in objects {
            let lookup = lookups[first + object.index]
            let answer = Result { () throws(ReachabilityError) in try resolve(lookup, object.id) }
            lookups[first + object.index].result = answer.flatMap(\.self)
        }
    }

    /// Looks up the route of one packet.
    package mutating func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        var lookups = [RouteLookup(query)]
        try answer(&lookups, from: 0)
        return try lookups[0].result.get()
    }

    /// Looks up the nexthops of an entry for which the kernel names only a nexthop object.
    private mutating func resolve(
        _ lookup: RouteLookup,
        _ object: UInt32
    ) throws(ReachabilityError) -> RoutingResult {
        if let nexthops = try nexthops(ofObject: object), !nexthops.isEmpty {
            return lookup.result.map { $0.with { $0.nexthops = nexthops } }
        }
        return .success(try answer(to: lookup.query.forPacket))
    }

    /// Returns the interface with an index; `nil` if there is none.
    package mutating func link(index: UInt32) throws(ReachabilityError) -> Link? {
        // No interface has such an index, and the kernel would read 0 as a request without an index.
        guard index > 0, index <= Int32.max else { return nil }
        return try link(index, nil)
    }

    /// Returns the interface with a name or alternative name; `nil` if there is none.
    package mutating func link(named name: String) throws(ReachabilityError) -> Link? {
        // For impossible names, the kernel has other errnos than ENODEV.
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

    /// The nexthops of a nexthop object; empty for a blackhole, `nil` if the object or a member was removed.
    package mutating func nexthops(ofObject id: UInt32) throws(ReachabilityError) -> [Nexthop]? {
        try object(id)?.nexthops { (id) throws(ReachabilityError) in try object(id) }
    }

    private mutating func object(_ id: UInt32) throws(ReachabilityError) -> NexthopObject? {
        try value(
            Request(RTM_GETNEXTHOP, nhmsg(), [Request.Attribute(NHA_ID, id)]), "ask for a nexthop object",
            missingFor: [ENOENT], NexthopObject.init)
    }
}

/// An entry for which the kernel names only a nexthop object, by the index of its lookup.
private typealias NamedObject = (index: Int, id: UInt32)

/// The lookups of a request, while their answers arrive.
private struct LookupAnswers {
    /// Before the shim returns without an error, it passes an answer for each lookup.
    let lookups: UnsafeMutableBufferPointer<RouteLookup>
    private(set) var objects: [NamedObject] = []

    init(lookups: UnsafeMutableBufferPointer<RouteLookup>) {
        self.lookups = lookups
    }

    mutating func store(
        _ index: Int,
        _ route: UnsafePointer<cnl_route>?,
        _ refusal: UnsafePointer<cnl_error>?
    ) {
        if let route {
            lookups[index].result = .success(.taken(RouteMatch(route.pointee, lookups[index].query)))
            if !lookups[index].query.selectsNexthop, route.pointee.namesNexthopObject {
                objects.append((index, route.pointee.nexthop_id))
            }
        } else if let refusal {
            lookups[index].result = Self.result(refusal.pointee, lookups[index].query)
        }
    }

    private static func result(_ refusal: cnl_error, _ query: RouteQuery) -> RoutingResult {
        // The kernel looks up only a few protocols. For others, it fails as it does for an unsupported address
        // family.
        let isUnsupportedProtocol = refusal.number == EOPNOTSUPP && query.ipProtocol != nil
        if !isUnsupportedProtocol, let rejection = RouteRejection(kernelError: refusal.number) {
            return .success(.rejected(rejection))
        }
        return .failure(ReachabilityError("ask for a route", refusal))
    }
}
