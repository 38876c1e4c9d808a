// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// One netlink message, valid during the call that passes it.
package struct NetlinkMessage {
    /// The size of `struct nlmsghdr`, in bytes.
    package static let headerLength = 16

    /// The bytes of the message, including the header.
    package let bytes: UnsafeRawBufferPointer
    /// The message's type (RTM_NEWLINK, ...).
    package let type: UInt16
    /// The message's flags (NLM_F_...).
    package let flags: UInt16

    /// The port of the socket whose request caused the message (`nlmsg_pid`).
    ///
    /// 0 if no netlink request caused the message, and in changes of interfaces and IPv6 addresses. The kernel's
    /// counterpart is `nlmsg_pid`.
    package let port: UInt32

    /// Wraps a complete message at an address divisible by 4; `nil` if it is truncated.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerLength else { return nil }
        let header = bytes.loadUnaligned(as: nlmsghdr.self)
        let length = Int(header.nlmsg_len)
        guard length >= Self.headerLength, length <= bytes.count else { return nil }
        self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<length])
        type = header.nlmsg_type
        flags = header.nlmsg_flags
        port = header.nlmsg_pid
    }

    /// Wraps a message from the shim, which is always complete.
    fileprivate init(_ header: UnsafePointer<nlmsghdr>) {
        bytes = UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len))
        type = header.pointee.nlmsg_type
        flags = header.pointee.nlmsg_flags
        port = header.pointee.nlmsg_pid
    }

    /// Appends a copy of the message to others, padded for ``forEach(in:_:)``.
    func append(to messages: inout [UInt8]) {
        messages += bytes
        messages += repeatElement(0, count: -bytes.count & 3)
    }

    /// Calls a closure with each of several consecutive messages, which begin at addresses divisible by 4.
    package static func forEach(in messages: [UInt8], _ body: (NetlinkMessage) -> Void) {
        messages.withUnsafeBytes { forEach(in: $0, body) }
    }

    static func forEach(in messages: UnsafeRawBufferPointer, _ body: (NetlinkMessage) -> Void) {
        var rest = messages[...]
        while let message = NetlinkMessage(UnsafeRawBufferPointer(rebasing: rest)) {
            body(message)
            rest = rest.dropFirst(message.bytes.count + (-message.bytes.count & 3))
        }
    }

    /// The address family, the first byte of each rtnetlink payload; `nil` for a message without payload.
    package var family: UInt8? {
        bytes.count > Self.headerLength ? bytes[Self.headerLength] : nil
    }

    /// The content of a message.
    package enum Content: Hashable, Sendable {
        /// A change of the network.
        case change(NetworkChange)
        /// A message of another type or family, or about a single address family of an interface, or about a bridge
        /// port.
        case ignored
        /// A truncated message, or one whose attributes are longer than the message.
        case malformed
    }

    /// The change that the message describes; `nil` for an ignored or malformed message.
    package var change: NetworkChange? {
        if case .change(let change) = content { change } else { nil }
    }

    /// Parses the message.
    package var content: Content {
        do throws(MalformedMessage) {
            return try parse().map(Content.change) ?? .ignored
        } catch {
            return .malformed
        }
    }

    /// Whether the message reports that an interface was moved to another network namespace, which is a removal here.
    ///
    /// The kernel's counterpart is `IFLA_NEW_NETNSID`.
    package var isMove: Bool {
        Int(type) == RTM_DELLINK && (try? parts(ifinfomsg.self))?.1[IFLA_NEW_NETNSID] != nil
    }

    /// Whether the message reports that the kernel sets an interface down because it is being removed.
    ///
    /// `dev_close_many` reports a change of IFF_UP and IFF_RUNNING. A request reports only a change of IFF_UP.
    package var isClosing: Bool {
        guard Int(type) == RTM_NEWLINK, let (body, _) = try? parts(ifinfomsg.self) else { return false }
        let (changed, flags) = (LinkFlags(rawValue: body.ifi_change), LinkFlags(rawValue: body.ifi_flags))
        return changed == [.up, .running] && !flags.contains(.up)
    }

    private func parse() throws(MalformedMessage) -> NetworkChange? {
        switch Int(type) {
        case RTM_NEWLINK: try LinkReport(self).map(NetworkChange.link)
        case RTM_DELLINK: try LinkReport(self).map { .removedLink(index: $0.link.index) }
        case RTM_NEWADDR: try InterfaceAddress(self).map(NetworkChange.address)
        case RTM_DELADDR: try InterfaceAddress(self).map(NetworkChange.removedAddress)
        case RTM_NEWROUTE: try route().map { .route($0, RoutePlacement(messageFlags: flags)) }
        case RTM_DELROUTE: try route().map(NetworkChange.removedRoute)
        case RTM_NEWNEIGH: try Neighbour(self).map(NetworkChange.neighbour)
        case RTM_DELNEIGH: try Neighbour(self).map { .removedNeighbour($0.key) }
        case RTM_NEWRULE: try Rule(self).map(NetworkChange.rule)
        case RTM_DELRULE: try Rule(self).map(NetworkChange.removedRule)
        case RTM_NEWNETCONF: try SettingsReport(self).map(NetworkChange.settings)
        case RTM_NEWNEXTHOP: .nexthop(try NexthopObject(self))
        case RTM_DELNEXTHOP: .removedNexthop(id: try NexthopObject(self).id)
        default: nil
        }
    }

    /// The route of RTM_NEWROUTE or RTM_DELROUTE; `nil` for other families than IPv4 and IPv6.
    private func route() throws(MalformedMessage) -> Route? {
        guard let base = bytes.baseAddress else { throw MalformedMessage() }
        // The parser initializes the whole structure first.
        let parsed = withUnsafeTemporaryAllocation(of: cnl_route.self, capacity: 1) { memory in
            let route = memory.baseAddress.unsafelyUnwrapped
            let status = cnl_parse_route(base, bytes.count, route)
            return (status: status, route: status == 0 ? Route(route.pointee) : nil)
        }
        guard parsed.status == 0 || parsed.status == -ENOMSG else { throw MalformedMessage() }
        return parsed.route
    }
}

/// Passes a Swift closure to C as a handler and its context.
///
/// - Returns: The result of the body, and how often the handler was called.
func withMessageHandler<Result>(
    _ handler: (NetlinkMessage) -> Void,
    _ body: (cnl_message_handler, UnsafeMutableRawPointer) -> Result
) -> (result: Result, count: UInt64) {
    withoutActuallyEscaping(handler) { handler in
        var context = MessageHandler(take: handler)
        let result = withUnsafeMutablePointer(to: &context) { pointer in
            body(
                { message, context in
                    guard let context else { return }
                    let handler = context.assumingMemoryBound(to: MessageHandler.self)
                    handler.pointee.count += 1
                    handler.pointee.take(NetlinkMessage(message))
                },
                UnsafeMutableRawPointer(pointer)
            )
        }
        return (result, context.count)
    }
}

private struct MessageHandler {
    let take: (NetlinkMessage) -> Void
    var count: UInt64 = 0
}

/// A message or an attribute is truncated, or too short for its value.
package struct MalformedMessage: Error {}

/// The attributes of a message, or those nested in another attribute.
///
/// Valid as long as the bytes of the message. If a type occurs several times, the last attribute counts.
struct Attributes {
    private var attributes = cnl_attributes()

    /// Parses consecutive attributes up to the end of the bytes.
    init(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) {
        guard cnl_parse_attributes(bytes.baseAddress, bytes.count, &attributes) == 0 else {
            throw MalformedMessage()
        }
    }

    /// The highest attribute type in the message.
    var highestType: UInt16 { attributes.highest_type }

    /// The value of an attribute with a type below 64, as bytes; `nil` if the attribute is missing.
    subscript(_ type: Int) -> UnsafeRawBufferPointer? {
        let attribute = withUnsafeBytes(of: attributes.by_type) { table in
            table.bindMemory(to: UnsafePointer<nlattr>?.self)[type]
        }
        return attribute.map(Self.value)
    }

    /// A value of fixed size; `nil` if the attribute is missing.
    func value<Value: BitwiseCopyable>(
        _ type: Int,
        as _: Value.Type = Value.self
    ) throws(MalformedMessage) -> Value? {
        guard let bytes = self[type] else { return nil }
        guard bytes.count >= MemoryLayout<Value>.size else { throw MalformedMessage() }
        return bytes.loadUnaligned(as: Value.self)
    }

    /// A number; `nil` if the attribute is missing or 0.
    func nonzero<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Int
    ) throws(MalformedMessage) -> Number? {
        let number = try value(type, as: Number.self)
        return number == 0 ? nil : number
    }

    /// An address of a family; `nil` if the attribute is missing.
    func address(_ type: Int, _ family: IPAddress.Family?) throws(MalformedMessage) -> IPAddress? {
        guard let bytes = self[type] else { return nil }
        guard let family, bytes.count == family.byteCount, let start = bytes.baseAddress else {
            throw MalformedMessage()
        }
        return IPAddress(family: family, networkBytes: start)
    }

    /// A text with a limited number of bytes, with or without a final NUL; empty if the attribute is missing.
    func text(_ type: Int, limit: Int) throws(MalformedMessage) -> String {
        guard let text = self[type]?.prefix(while: { $0 != 0 }) else { return "" }
        guard text.count <= limit else { throw MalformedMessage() }
        return String(decoding: text, as: UTF8.self)
    }

    /// The nested attributes of an attribute; `nil` if it is missing.
    func nested(_ type: Int) throws(MalformedMessage) -> Attributes? {
        guard let bytes = self[type] else { return nil }
        return try Attributes(bytes)
    }

    /// Calls a closure with the nested attributes of each element of a list.
    ///
    /// The types of the elements have no meaning. A missing list is empty.
    func forEach(
        in type: Int,
        _ body: (Attributes) throws(MalformedMessage) -> Void
    ) throws(MalformedMessage) {
        try forEachValue(in: type) { (value) throws(MalformedMessage) in try body(Attributes(value)) }
    }

    /// The texts in a list, each up to its NUL; empty if the list is missing.
    func texts(_ type: Int, limit: Int) throws(MalformedMessage) -> [String] {
        var texts: [String] = []
        try forEachValue(in: type) { (value) throws(MalformedMessage) in
            let text = value.prefix { $0 != 0 }
            guard text.count <= limit else { throw MalformedMessage() }
            texts.append(String(decoding: text, as: UTF8.self))
        }
        return texts
    }

    private func forEachValue(
        in type: Int,
        _ body: (UnsafeRawBufferPointer) throws(MalformedMessage) -> Void
    ) throws(MalformedMessage) {
        guard let bytes = self[type] else { return }
        var (offset, attribute) = (0, UnsafePointer<nlattr>?.none)
        while true {
            let status = cnl_next_attribute(bytes.baseAddress, bytes.count, &offset, &attribute)
            guard status >= 0 else { throw MalformedMessage() }
            guard status > 0, let attribute else { return }
            try body(Self.value(of: attribute))
        }
    }

    private static func value(of attribute: UnsafePointer<nlattr>) -> UnsafeRawBufferPointer {
        let header = MemoryLayout<nlattr>.size
        return UnsafeRawBufferPointer(
            start: UnsafeRawPointer(attribute) + header, count: Int(attribute.pointee.nla_len) - header)
    }
}

extension NetlinkMessage {
    /// Reads the fixed part of the message, and the attributes after it.
    func parts<Body: BitwiseCopyable>(
        _: Body.Type
    ) throws(MalformedMessage) -> (body: Body, attributes: Attributes) {
        // Attributes begin at a multiple of four bytes.
        let start = (Self.headerLength + MemoryLayout<Body>.size + 3) & ~3
        let attributes = try Attributes(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start)))
        return (try body(Body.self), attributes)
    }

    /// Reads the fixed part of the message.
    func body<Body: BitwiseCopyable>(_: Body.Type) throws(MalformedMessage) -> Body {
        guard bytes.count >= Self.headerLength + MemoryLayout<Body>.size else { throw MalformedMessage() }
        return bytes.loadUnaligned(fromByteOffset: Self.headerLength, as: Body.self)
    }
}

// MARK: - Dumps

/// The description of a dump.
package struct DumpRequest: Hashable, Sendable {
    /// A table of the kernel.
    ///
    /// The raw value is the type of the request that dumps it.
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

        /// The table whose entries a message describes; `nil` for a message about no table.
        package init?(of message: NetlinkMessage) {
            // Message types come in groups of four: NEW, DEL, GET, SET.
            self.init(rawValue: message.type & ~3 | 2)
        }
    }

    package var table: Table
    /// The family to dump; `nil` for all.
    package var family: IPAddress.Family?
    /// The interface whose addresses to dump; 0 for all.
    ///
    /// Kernels before 4.20 send the addresses of all interfaces.
    package var interfaceIndex: UInt32 = 0

    package init(_ table: Table, family: IPAddress.Family? = nil, interfaceIndex: UInt32 = 0) {
        self.table = table
        self.family = family
        self.interfaceIndex = interfaceIndex
    }
}

// MARK: - Effects of a message

extension NetlinkMessage {
    /// The neighbour that a message is about; `nil` for other messages.
    var neighbourNotification: KernelNotification? {
        guard [RTM_NEWNEIGH, RTM_DELNEIGH].contains(Int(type)) else { return nil }
        return switch change {
        case .neighbour(let neighbour): .neighbour(neighbour.key.address)
        case .removedNeighbour(let key): .neighbour(key.address)
        default: nil
        }
    }

    /// The effect of the message; `nil` for a message that no route can depend on.
    package var notification: KernelNotification? {
        switch Int(type) {
        case RTM_NEWLINK, RTM_DELLINK: linkNotification
        case RTM_NEWADDR: .address(isLoss: false)
        case RTM_DELADDR: .address(isLoss: true)
        case RTM_NEWROUTE: prefix.map(KernelNotification.route)
        // The kernel sends it before it removes an IPv4 route, and after it has removed an IPv6 route.
        case RTM_DELROUTE: prefix.map { $0.family == .v4 ? .routeRemoval($0) : .route($0) }
        case RTM_NEWRULE, RTM_DELRULE: .rule
        case RTM_NEWNETCONF, RTM_DELNETCONF: .settings
        case RTM_NEWNEXTHOP: .nexthop(isLoss: false)
        case RTM_DELNEXTHOP: .nexthop(isLoss: true)
        default: nil
        }
    }

    /// Ignores the partial messages about bridges, IPv6 and Wi-Fi scans.
    ///
    /// A change of the interface itself is a complete message.
    private var linkNotification: KernelNotification? {
        switch change {
        case .removedLink: .link(isLoss: true)
        case .link(let report) where report.isWhole: report.link.notification
        default: nil
        }
    }

    /// The destination of a route message.
    private var prefix: IPPrefix? {
        guard let base = bytes.baseAddress else { return nil }
        var destination = cnl_destination()
        guard cnl_parse_destination(base, bytes.count, &destination) == 0 else { return nil }
        return IPPrefix(
            family: destination.family, fixedBytes: destination.address, length: destination.length)
    }
}
