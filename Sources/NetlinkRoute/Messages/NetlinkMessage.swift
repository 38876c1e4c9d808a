// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// One netlink message, valid during the call that passes it.
package struct NetlinkMessage {
    /// Bytes of `struct nlmsghdr`.
    package static let headerLength = 16

    /// The message's bytes with the header.
    package let bytes: UnsafeRawBufferPointer
    /// The message's type (RTM_NEWLINK, ...).
    package let type: UInt16
    /// The message's flags (NLM_F_...).
    package let flags: UInt16

    /// Wraps a whole message at an address divisible by 4; `nil` when it is cut.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return nil }
        var message = cnl_message(bytes: base, length: 0, type: 0, flags: 0, sequence: 0, port: 0)
        guard cnl_message_first(base, bytes.count, &message) > 0 else { return nil }
        self.init(message)
    }

    init(_ message: cnl_message) {
        bytes = UnsafeRawBufferPointer(start: message.bytes, count: Int(message.length))
        type = message.type
        flags = message.flags
    }

    /// The address family, the first byte of each rtnetlink payload; `nil` for a message without payload.
    package var family: UInt8? {
        bytes.count > Self.headerLength ? bytes[Self.headerLength] : nil
    }

    /// What a message says.
    package enum Content: Hashable, Sendable {
        /// A change of the network.
        case change(NetworkChange)
        /// A message of another type or family, or about one address family of an interface or a bridge's port.
        case ignored
        /// A message that is cut or whose attributes overrun it.
        case malformed
    }

    /// The change that the message describes; `nil` for a message that is ignored or malformed.
    package var change: NetworkChange? {
        if case .change(let change) = content { change } else { nil }
    }

    /// Parses the message.
    package var content: Content {
        switch Int(type) {
        case RTM_NEWLINK: parse(cnl_parse_link) { LinkReport($0).map(NetworkChange.link) }
        case RTM_DELLINK: parse(cnl_parse_link) { LinkReport($0).map { .removedLink(index: $0.link.index) } }
        case RTM_NEWADDR: parse(cnl_parse_address) { .address(InterfaceAddress($0)) }
        case RTM_DELADDR: parse(cnl_parse_address) { .removedAddress(InterfaceAddress($0)) }
        case RTM_NEWROUTE: parse(cnl_parse_route) { .route(Route($0), RoutePlacement(messageFlags: flags)) }
        case RTM_DELROUTE: parse(cnl_parse_route) { .removedRoute(Route($0)) }
        case RTM_NEWNEIGH: parse(cnl_parse_neighbour) { Neighbour($0).map(NetworkChange.neighbour) }
        case RTM_DELNEIGH: parse(cnl_parse_neighbour) { Neighbour($0).map { .removedNeighbour($0.key) } }
        case RTM_NEWRULE: parse(cnl_parse_rule) { .rule(Rule($0)) }
        case RTM_DELRULE: parse(cnl_parse_rule) { .removedRule(Rule($0)) }
        case RTM_NEWNETCONF: parse(cnl_parse_settings) { .settings(FamilySettings($0)) }
        case RTM_NEWNEXTHOP: parse(cnl_parse_nexthop_object) { .nexthop(NexthopObject($0)) }
        case RTM_DELNEXTHOP: parse(cnl_parse_nexthop_object) { .removedNexthop(id: $0.id) }
        default: .ignored
        }
    }

    private func parse<Parsed>(
        _ parser: (UnsafeRawPointer, Int, UnsafeMutablePointer<Parsed>) -> Int32,
        _ change: (Parsed) -> NetworkChange?
    ) -> Content {
        // A parser sets the whole structure before it reads the message.
        withUnsafeTemporaryAllocation(of: Parsed.self, capacity: 1) { memory in
            guard let base = bytes.baseAddress, let parsed = memory.baseAddress else { return .malformed }
            switch parser(base, bytes.count, parsed) {
            case 0: return change(parsed.pointee).map(Content.change) ?? .ignored
            case -ENOMSG: return .ignored
            default: return .malformed
            }
        }
    }
}

/// Passes a Swift closure to C as a handler and its context.
func withMessageHandler<Result>(
    _ handler: (NetlinkMessage) -> Void,
    _ body: (cnl_message_handler, UnsafeMutableRawPointer) -> Result
) -> Result {
    withoutActuallyEscaping(handler) { handler in
        var handler = handler
        return withUnsafeMutablePointer(to: &handler) { pointer in
            body(
                { message, context in
                    guard let context else { return }
                    let handler = context.assumingMemoryBound(to: ((NetlinkMessage) -> Void).self).pointee
                    handler(NetlinkMessage(message.pointee))
                },
                UnsafeMutableRawPointer(pointer)
            )
        }
    }
}
