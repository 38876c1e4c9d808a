// SPDX-License-Identifier: Apache-2.0

/// What a route puts around its packets: a lightweight tunnel.
///
/// The kernel's counterpart is RTA_ENCAP_TYPE with RTA_ENCAP.
package struct Encapsulation: Hashable, Sendable {
    /// The kind: LWTUNNEL_ENCAP of `linux/lwtunnel.h`.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kernel's number.
        package let rawValue: UInt16

        /// Wraps the kernel's number; unknown ones are kept.
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Labels in front of the packet, which leaves to the gateway of the route.
        package static let mpls = Kind(rawValue: 1)
        /// An IPv4 packet, which the interface of the route sends: a tunnel with `external`.
        package static let ip = Kind(rawValue: 2)
        /// An IPv6 packet, which the interface of the route sends.
        package static let ip6 = Kind(rawValue: 4)
        /// An IPv6 packet with a routing header, which is routed again, whatever the interface of the route.
        package static let seg6 = Kind(rawValue: 5)
    }

    /// The kind.
    package var kind: Kind
    /// The destination of the outer packet; `nil` where there is none, or the attribute does not hold it.
    package var destination: IPAddress?

    /// Describes an encapsulation.
    package init(_ kind: Kind, to destination: IPAddress? = nil) {
        (self.kind, self.destination) = (kind, destination)
    }

    /// Whether the answer of the kernel and the destination of the outer packet show where packets go.
    package var isShown: Bool {
        kind == .mpls || ([.ip, .ip6, .seg6].contains(kind) && destination != nil)
    }
}

extension Encapsulation: CustomStringConvertible {
    /// The word of ip(8), and the destination of the outer packet.
    package var description: String {
        let names = ["none", "mpls", "ip", "ila", "ip6", "seg6", "bpf", "seg6local", "rpl", "ioam6", "xfrm"]
        let number = Int(kind.rawValue)
        let name = names.indices.contains(number) ? names[number] : "\(number)"
        return destination.map { "\(name) to \($0)" } ?? name
    }
}
