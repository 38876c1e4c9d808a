// SPDX-License-Identifier: Apache-2.0

/// One end of a connection, by Apple's name, limited to what gateways of paths need.
public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port; gateways have the port 0.
    case hostPort(host: Host, port: Port)
    /// A Bonjour service.
    case service(name: String, type: String, domain: String, interface: NWInterface?)
    /// A Unix domain socket.
    case unix(path: String)

    /// The interface of the endpoint; `nil` if it has none.
    public var interface: NWInterface? {
        switch self {
        case .hostPort(let host, _): host.interface
        case .service(_, _, _, let interface): interface
        case .unix: nil
        }
    }
}

extension NWEndpoint: CustomDebugStringConvertible {
    /// The endpoint as text: `192.0.2.1:80`, `2001:db8::1.80`, `name.type.domain`, or a path.
    public var debugDescription: String {
        switch self {
        case .hostPort(.ipv6(let address), let port): "\(address).\(port)"
        case .hostPort(let host, let port): "\(host):\(port)"
        case .service(let name, let type, let domain, _): "\(name).\(type).\(domain)"
        case .unix(let path): path
        }
    }
}

// MARK: - Ports

extension NWEndpoint {
    /// A port of a transport protocol.
    public struct Port: Hashable, Sendable, RawRepresentable {
        /// The number.
        public let rawValue: UInt16

        /// Creates a port from a number, and never returns `nil`.
        public init?(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Reads a decimal number; `nil` for other text, including names of services.
        public init?(_ service: String) {
            guard let number = UInt16(service) else { return nil }
            rawValue = number
        }

        /// The port 0, which stands for any.
        public static let any: Port = 0
        /// 22.
        public static let ssh: Port = 22
        /// 25.
        public static let smtp: Port = 25
        /// 80.
        public static let http: Port = 80
        /// 443.
        public static let https: Port = 443
    }
}

extension NWEndpoint.Port: ExpressibleByIntegerLiteral {
    /// Creates a port from a number.
    public init(integerLiteral number: UInt16) {
        rawValue = number
    }
}

extension NWEndpoint.Port: CustomDebugStringConvertible {
    /// The number.
    public var debugDescription: String { String(rawValue) }
}
