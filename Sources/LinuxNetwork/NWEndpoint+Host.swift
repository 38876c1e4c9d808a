// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

extension NWEndpoint {
    /// A host, as a name or an address.
    public enum Host: Hashable, Sendable {
        /// A name, and the interface on which it is resolved; `nil` for all interfaces.
        case name(String, NWInterface?)
        /// An IPv4 address.
        case ipv4(IPv4Address)
        /// An IPv6 address.
        case ipv6(IPv6Address)

        /// Reads an address.
        ///
        /// Any other text is a name.
        ///
        /// An IPv4-mapped IPv6 address becomes an IPv4 host. `%` and the name of an interface of this host set the
        /// host's interface.
        public init(_ string: String) {
            if let scoped = ScopedAddress(string) {
                self.init(ScopedAddress(scoped.address.unmapped, on: scoped.interface))
                return
            }
            if let percent = string.lastIndex(of: "%"),
                let interface = NWInterface(named: String(string[string.index(after: percent)...]))
            {
                self = .name(String(string[..<percent]), interface)
            } else {
                self = .name(string, nil)
            }
        }

        init(_ scoped: ScopedAddress) {
            switch scoped.address.family {
            case .v4: self = .ipv4(IPv4Address(scoped))
            case .v6: self = .ipv6(IPv6Address(scoped))
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
    init(_ gateway: Address, on interfaces: [NetworkInterface]) {
        let interface = interfaces.first { $0.name == gateway.zone?.name }.map(NWInterface.init)
        self.init(ScopedAddress(gateway, on: interface))
    }
}

extension NWEndpoint.Host: ExpressibleByStringLiteral {
    /// Reads an address.
    ///
    /// Any other text is a name.
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
