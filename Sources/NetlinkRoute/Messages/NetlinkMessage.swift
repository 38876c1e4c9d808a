// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

/// One netlink message, lent for the duration of a call.
package struct NetlinkMessage {
    /// The message's bytes, header included.
    package let bytes: UnsafeRawBufferPointer
    /// RTM_NEWLINK and the like.
    package let type: UInt16
    /// NLM_F bits.
    package let flags: UInt16

    /// Wraps a whole message that lies at an address divisible by 4; `nil` when it is cut.
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

    /// What a message tells.
    package enum Content: Hashable, Sendable {
        /// An interface exists or has changed. It may tell only a part: see ``LinkMessage``.
        case link(LinkMessage)
        /// An interface is gone.
        case removedLink(LinkMessage)
        /// An address exists or has changed.
        case address(InterfaceAddress)
        /// An address is gone.
        case removedAddress(InterfaceAddress)
        /// A route exists or has changed.
        case route(Route)
        /// A route is gone.
        case removedRoute(Route)
        /// A rule exists.
        case rule(Rule)
        /// A rule is gone.
        case removedRule(Rule)
        /// A nexthop object exists or has changed.
        case nexthop(NexthopObject)
        /// A nexthop object is gone.
        case removedNexthop(NexthopObject)
        /// A neighbour exists or has changed.
        case neighbour(Neighbour)
        /// A neighbour is forgotten.
        case removedNeighbour(Neighbour)
        /// A setting of an interface or of all is so.
        case settings(FamilySettings)
        /// A message of another kind or family, passed over.
        case other
        /// A cut or malformed message.
        case malformed
    }

    /// Reads the message.
    package var content: Content {
        switch type {
        case 16, 17: parse(cnl_parse_link) { $0.is_removed ? .removedLink(.init($0)) : .link(.init($0)) }
        case 20, 21:
            parse(cnl_parse_address) { $0.is_removed ? .removedAddress(.init($0)) : .address(.init($0)) }
        case 28, 29:
            parse(cnl_parse_neighbour) { neighbour in
                guard let parsed = Neighbour(neighbour) else { return .other }
                return neighbour.is_removed ? .removedNeighbour(parsed) : .neighbour(parsed)
            }
        case 104, 105:
            parse(cnl_parse_nexthop) { $0.is_removed ? .removedNexthop(.init($0)) : .nexthop(.init($0)) }
        case 24, 25: parse(cnl_parse_route) { $0.is_removed ? .removedRoute(.init($0)) : .route(.init($0)) }
        case 32, 33: parse(cnl_parse_rule) { $0.is_removed ? .removedRule(.init($0)) : .rule(.init($0)) }
        case 80: parse(cnl_parse_settings) { .settings(FamilySettings($0)) }
        default: .other
        }
    }

    private func parse<Parsed: BitwiseInitializable>(
        _ parser: (UnsafeRawPointer, Int, UnsafeMutablePointer<Parsed>) -> Int32,
        _ make: (Parsed) -> Content
    ) -> Content {
        guard let base = bytes.baseAddress else { return .malformed }
        var parsed = Parsed()
        switch parser(base, bytes.count, &parsed) {
        case 0: return make(parsed)
        case -noMessage: return .other
        default: return .malformed
        }
    }
}

/// ENOMSG: a message of another kind or family.
private let noMessage: Int32 = 42

/// A C structure that can start as zeros.
private protocol BitwiseInitializable {
    init()
}

extension cnl_link: BitwiseInitializable {}
extension cnl_address: BitwiseInitializable {}
extension cnl_route: BitwiseInitializable {}
extension cnl_rule: BitwiseInitializable {}
extension cnl_nexthop: BitwiseInitializable {}
extension cnl_neighbour: BitwiseInitializable {}
extension cnl_settings: BitwiseInitializable {}

/// Lends a Swift closure to C as a handler and its context for the duration of `body`.
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
