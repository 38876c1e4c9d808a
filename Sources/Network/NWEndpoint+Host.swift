// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

extension NWEndpoint {
    /// A host, as a name or an address.
    public enum Host: Hashable, Sendable {
        /// A name, and the interface on which it is resolved; `nil` for all.
        case name(String, NWInterface?)
        /// An IPv4 address.
        case ipv4(IPv4Address)
        /// An IPv6 address.
        case ipv6(IPv6Address)

        /// Reads an address; any other text is a name.
        public init(_ string: String) {
            if let address = IPv4Address(string) {
                self = .ipv4(address)
            } else if let address = IPv6Address(string) {
                self = .ipv6(address)
            } else {
                self = .name(string, nil)
            }
        }

        /// The interface of the host; `nil` if it has none.
        public var interface: NWInterface? {
            switch self {
            case .name(_, let interface): interface
            case .ipv4(let address): address.interface
            case .ipv6(let address): address.interface
            }
        }
    }
}

extension NWEndpoint.Host {
    /// Creates a host from a gateway, with the interface that its zone names.
    init(_ address: IPAddress, on interfaces: [NetworkInterface]) {
        let interface = interfaces.first { $0.name == address.zone?.name }.map(NWInterface.init)
        switch address.family {
        case .v4: self = .ipv4(IPv4Address(address, on: interface))
        case .v6: self = .ipv6(IPv6Address(address, on: interface))
        }
    }
}

extension NWEndpoint.Host: ExpressibleByStringLiteral {
    /// Reads an address; any other text is a name.
    public init(stringLiteral string: String) {
        self.init(string)
    }
}

extension NWEndpoint.Host: CustomDebugStringConvertible {
    /// The name or address.
    public var debugDescription: String {
        switch self {
        case .name(let name, let interface): interface.map { "\(name)%\($0.name)" } ?? name
        case .ipv4(let address): address.debugDescription
        case .ipv6(let address): address.debugDescription
        }
    }
}
