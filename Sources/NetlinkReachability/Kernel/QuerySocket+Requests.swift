// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A request to the kernel other than a route lookup.
struct Request {
    struct Attribute {
        let type: Int
        let value: [UInt8]

        init(_ type: Int, _ value: some BitwiseCopyable) {
            self.type = type
            self.value = withUnsafeBytes(of: value, Array.init)
        }

        /// Creates a text attribute with a final NUL.
        init(_ type: Int, text: String) {
            self.type = type
            value = Array(text.utf8) + [0]
        }

        /// Omits the counters of interfaces from the answer.
        static let withoutStatistics = Attribute(IFLA_EXT_MASK, UInt32(RTEXT_FILTER_SKIP_STATS))
    }

    /// The type of the message (RTM_GETLINK, ...).
    let type: UInt16
    /// Whether the request is for all entries of a table (NLM_F_DUMP).
    let isDump: Bool
    /// The fixed part of the message.
    private(set) var body: [UInt8]
    let attributes: [Attribute]

    init(
        _ type: some BinaryInteger,
        isDump: Bool = false,
        _ body: some BitwiseCopyable,
        _ attributes: [Attribute] = []
    ) {
        self.type = UInt16(type)
        self.isDump = isDump
        self.body = withUnsafeBytes(of: body, Array.init)
        self.attributes = attributes
    }
}

extension DumpRequest.Table {
    /// The size of the fixed part of the request.
    ///
    /// A kernel with strict checks requires it.
    fileprivate var bodySize: Int {
        switch self {
        case .links: MemoryLayout<ifinfomsg>.size
        case .addresses: MemoryLayout<ifaddrmsg>.size
        case .routes: MemoryLayout<rtmsg>.size
        case .neighbours: MemoryLayout<ndmsg>.size
        case .rules: MemoryLayout<fib_rule_hdr>.size
        case .settings: MemoryLayout<netconfmsg>.size
        case .nexthops: MemoryLayout<nhmsg>.size
        }
    }
}

extension Request {
    fileprivate init(_ dump: DumpRequest) {
        type = dump.table.rawValue
        isDump = true
        body = Array(repeating: 0, count: dump.table.bodySize)
        // The family is the first field of every fixed part.
        body[0] = dump.family?.rawValue ?? UInt8(AF_UNSPEC)
        if dump.table == .addresses, let offset = MemoryLayout<ifaddrmsg>.offset(of: \.ifa_index) {
            body.withUnsafeMutableBytes {
                $0.storeBytes(of: dump.interfaceIndex, toByteOffset: offset, as: UInt32.self)
            }
        }
        attributes = dump.table == .links ? [.withoutStatistics] : []
    }
}

extension QuerySocket {
    /// The most attempts at a dump whose table changes meanwhile.
    ///
    /// If the table changes during each, the dump fails, or its result says so.
    package static let dumpLimit = 5

    /// Dumps a table.
    ///
    /// Only a socket with strict checks filters. Otherwise the kernel sends everything, and the body has to filter.
    ///
    /// - Parameters:
    ///   - request: The dump.
    ///   - body: Receives each message except cached routes (RTM_F_CLONED). A message is valid during the call.
    /// - Returns: Whether the table changed during the dump, so that entries can be missing or duplicate.
    /// - Throws: An error if the kernel refuses the dump, or the dump fails.
    package mutating func dump(
        _ request: DumpRequest,
        _ body: (NetlinkMessage) -> Void
    ) throws(ReachabilityError) -> Bool {
        try ask(Request(request), "dump the kernel's \(request.table)") { message in
            if request.table != .routes || !message.isCachedRoute { body(message) }
        }
    }

    /// Lists the entries of a dump.
    ///
    /// An interrupted dump is repeated from the beginning.
    ///
    /// - Parameters:
    ///   - request: The dump.
    ///   - operation: The operation that an error names.
    ///   - empty: The result before the first message of each attempt.
    ///   - body: Adds a message to the result. The message is valid during the call.
    /// - Returns: The result of the attempt that was not interrupted.
    /// - Throws: An error if the kernel refuses the dump, if the dump fails, or if every attempt is interrupted
    ///   (EAGAIN).
    mutating func list<Found>(
        _ request: Request,
        _ operation: String,
        from empty: Found,
        _ body: (inout Found, NetlinkMessage) throws(MalformedMessage) -> Void
    ) throws(ReachabilityError) -> Found {
        for _ in 1...Self.dumpLimit {
            var found = empty
            let isInterrupted = try ask(request, operation) { (message) throws(MalformedMessage) in
                try body(&found, message)
            }
            if !isInterrupted { return found }
        }
        throw ReachabilityError(operation: operation, number: EAGAIN)
    }

    /// Queries one value; `nil` if the kernel refuses with an errno that means that it does not exist.
    mutating func value<Value>(
        _ request: Request,
        _ operation: String,
        missingFor errnos: [Int32],
        _ parse: (NetlinkMessage) throws(MalformedMessage) -> Value?
    ) throws(ReachabilityError) -> Value? {
        var value: Value?
        do {
            _ = try ask(request, operation) { (message) throws(MalformedMessage) in
                value = try parse(message)
            }
        } catch {
            guard errnos.contains(error.number) else { throw error }
        }
        return value
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - operation: The operation that an error names.
    ///   - body: Receives each message of the answer. A message is valid during the call.
    /// - Returns: Whether the dumped table changed during the dump, so that entries can be missing or duplicate.
    /// - Throws: An error if the kernel refuses the request, if there is no answer, or if a message is malformed
    ///   (EBADMSG).
    mutating func ask(
        _ request: Request,
        _ operation: @autoclosure () -> String,
        _ body: (NetlinkMessage) throws(MalformedMessage) -> Void
    ) throws(ReachabilityError) -> Bool {
        trace?.operation = operation()
        cnl_query_begin(
            handle, request.type, request.isDump ? UInt16(NLM_F_ROOT | NLM_F_MATCH) : 0, request.body,
            request.body.count)
        for attribute in request.attributes {
            cnl_query_put(handle, UInt16(attribute.type), attribute.value, attribute.value.count)
        }
        var (isInterrupted, isMalformed, error) = (false, false, cnl_error())
        func parse(_ message: NetlinkMessage) {
            do throws(MalformedMessage) { try body(message) } catch { isMalformed = true }
        }
        let (isAnswered, _) = withMessageHandler(parse) {
            cnl_query_ask(handle, $0, $1, &isInterrupted, &error)
        }
        guard isAnswered else { throw ReachabilityError(operation(), error) }
        guard !isMalformed else { throw ReachabilityError(operation: operation(), number: EBADMSG) }
        return isInterrupted
    }
}

extension QuerySocket {
    /// Returns all interfaces of the namespace.
    mutating func links() throws(ReachabilityError) -> [Link] {
        try collect(DumpRequest(.links)) { change in
            if case .link(let report) = change { report.link } else { nil }
        }
    }

    /// Returns the policy rules of a family in the kernel's order.
    package mutating func rules(family: IPAddress.Family) throws(ReachabilityError) -> [Rule] {
        try collect(DumpRequest(.rules, family: family)) { change in
            guard case .rule(let rule) = change, rule.family == family else { return nil }
            return rule
        }
    }

    /// Returns the addresses of one interface, or of all interfaces, in the kernel's order.
    mutating func addresses(
        ofInterface index: UInt32,
        family: IPAddress.Family?
    ) throws(ReachabilityError) -> [InterfaceAddress] {
        do {
            // A kernel that does not filter or does not support the family sends all addresses.
            return try collect(DumpRequest(.addresses, family: family, interfaceIndex: index)) { change in
                guard case .address(let address) = change,
                    index == 0 || address.interfaceIndex == index,
                    family == nil || address.address.family == family
                else { return nil }
                return address
            }
        } catch {
            // A kernel that filters fails with ENODEV if the interface was removed.
            guard index != 0, error.number == ENODEV else { throw error }
            return []
        }
    }

    /// Dumps a table, without cached routes.
    ///
    /// - Throws: An error if the dump fails, or if every attempt is interrupted (EAGAIN).
    mutating func collect<Value>(
        _ request: DumpRequest,
        _ take: (NetworkChange) -> Value?
    ) throws(ReachabilityError) -> [Value] {
        try list(Request(request), "dump the kernel's \(request.table)", from: []) { values, message in
            guard request.table != .routes || !message.isCachedRoute else { return }
            if let value = message.change.flatMap(take) { values.append(value) }
        }
    }
}

extension NetlinkMessage {
    /// Whether the message describes a route exception that the kernel cached.
    fileprivate var isCachedRoute: Bool {
        guard let route = try? body(rtmsg.self) else { return false }
        return route.rtm_flags & UInt32(RTM_F_CLONED) != 0
    }
}

/// A family of generic netlink.
///
/// The kernel assigns its number.
struct GenericFamily {
    /// Wi-Fi.
    static let nl80211 = GenericFamily(name: NL80211_GENL_NAME)
    /// WireGuard, whose answers hold private and preshared keys.
    static let wireGuard = GenericFamily(name: WG_GENL_NAME, holdsSecrets: true)

    let name: String
    /// Whether the answers are overwritten after they are read.
    var holdsSecrets = false

    /// Dumps the answer to a command, through a socket of its own.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - operation: The operation that an error names.
    ///   - attributes: The attributes of the request.
    ///   - empty: The result before the first message.
    ///   - body: Adds a message to the result. The message is valid during the call.
    /// - Returns: The result; `nil` if the kernel has no such family.
    /// - Throws: An error of the socket or the command.
    func dump<Found>(
        _ command: some BinaryInteger,
        _ operation: String,
        _ attributes: [Request.Attribute] = [],
        from empty: Found,
        _ body: (inout Found, NetlinkMessage) throws(MalformedMessage) -> Void
    ) throws(ReachabilityError) -> Found? {
        var socket = try QuerySocket(netlinkProtocol: NETLINK_GENERIC)
        defer { if holdsSecrets { socket.wipe() } }
        let naming = Request(
            GENL_ID_CTRL, genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0),
            [Request.Attribute(CTRL_ATTR_FAMILY_NAME, text: name)])
        let family = try socket.value(naming, operation, missingFor: [ENOENT]) {
            (message) throws(MalformedMessage) -> UInt16? in
            let attributes = try message.parts(genlmsghdr.self).attributes
            guard let family: UInt16 = try attributes.value(CTRL_ATTR_FAMILY_ID) else {
                throw MalformedMessage()
            }
            return family
        }
        guard let family else { return nil }
        let header = genlmsghdr(cmd: UInt8(command), version: 1, reserved: 0)
        let request = Request(family, isDump: true, header, attributes)
        return try socket.list(request, operation, from: empty, body)
    }
}

/// A multicast group of rtnetlink (RTNLGRP_...).
package struct EventGroup: Hashable, Sendable {
    /// The kernel's name without the prefix RTNLGRP_.
    package let name: String
    /// The kernel's number.
    let number: UInt32

    private init(_ name: String, _ number: UInt32) {
        (self.name, self.number) = (name, number)
    }

    /// The groups for destroyed TCP sockets, of NETLINK_SOCK_DIAG.
    static let closings = [
        EventGroup("INET_TCP_DESTROY", SKNLGRP_INET_TCP_DESTROY.rawValue),
        EventGroup("INET6_TCP_DESTROY", SKNLGRP_INET6_TCP_DESTROY.rawValue),
    ]

    /// Interfaces.
    static let link = EventGroup("LINK", RTNLGRP_LINK.rawValue)
    /// IPv4 addresses.
    static let ipv4Address = EventGroup("IPV4_IFADDR", RTNLGRP_IPV4_IFADDR.rawValue)
    /// IPv4 routes.
    static let ipv4Route = EventGroup("IPV4_ROUTE", RTNLGRP_IPV4_ROUTE.rawValue)
    /// IPv4 rules.
    static let ipv4Rule = EventGroup("IPV4_RULE", RTNLGRP_IPV4_RULE.rawValue)
    /// IPv6 rules.
    static let ipv6Rule = EventGroup("IPV6_RULE", RTNLGRP_IPV6_RULE.rawValue)
    /// Nexthop objects (Linux 5.3 and later).
    package static let nexthop = EventGroup("NEXTHOP", RTNLGRP_NEXTHOP.rawValue)
    /// Neighbours.
    ///
    /// Their notifications are frequent, so only recordings and observations of an identity join this group.
    package static let neighbour = EventGroup("NEIGH", RTNLGRP_NEIGH.rawValue)

    /// The groups for everything that answers depend on, except neighbours.
    package static let monitored = [
        link,
        ipv4Address,
        ipv4Route,
        ipv4Rule,
        EventGroup("IPV6_IFADDR", RTNLGRP_IPV6_IFADDR.rawValue),
        EventGroup("IPV6_ROUTE", RTNLGRP_IPV6_ROUTE.rawValue),
        ipv6Rule,
        EventGroup("IPV4_NETCONF", RTNLGRP_IPV4_NETCONF.rawValue),
        EventGroup("IPV6_NETCONF", RTNLGRP_IPV6_NETCONF.rawValue),
        nexthop,
    ]

    /// Whether a refusal means that the kernel has no such objects, so that no notification is missed.
    ///
    /// Before Linux 5.3, the kernel refuses the group of nexthop objects with EINVAL.
    func isUnknown(_ error: ReachabilityError) -> Bool {
        self == .nexthop && (error.number == EINVAL || error.number == EOPNOTSUPP)
    }
}
