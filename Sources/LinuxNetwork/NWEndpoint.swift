// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: TypeNamesShouldBeCapitalized

internal import Glibc

public import struct FoundationEssentials.URL

/// One end of a connection, by Apple's name.
///
/// Only the parts that the gateways of paths need.
public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port. Gateways have the port 0.
    case hostPort(host: Host, port: Port)
    /// A Bonjour service.
    case service(name: String, type: String, domain: String, interface: NWInterface?)
    /// A Unix domain socket.
    case unix(path: String)
    /// A URL.
    case url(URL)
    /// An endpoint of Apple's C interface, which Linux does not have. There is no value of this case.
    case opaque(nw_endpoint_t)

    /// The interface of the endpoint; `nil` if it has none.
    public var interface: NWInterface? {
        switch self {
        case .hostPort(let host, _): host.interface
        case .service(_, _, _, let interface): interface
        case .unix, .url, .opaque: nil
        }
    }
}

extension NWEndpoint: CustomDebugStringConvertible {
    /// The endpoint as text: `192.0.2.1:80`, `2001:db8::1.80`, `name.type.domain`, a path, or a URL.
    public var debugDescription: String {
        switch self {
        case .hostPort(.ipv6(let address), let port): "\(address).\(port)"
        case .hostPort(let host, let port): "\(host):\(port)"
        case .service(let name, let type, let domain, let interface):
            "\(name).\(type).\(domain)" + (interface.map { "%\($0.name)" } ?? "")
        case .unix(let path): path
        case .url(let url): url.absoluteString
        }
    }
}

/// An endpoint of Apple's C interface, which Linux does not have.
///
/// The type has no values, and exists so that code that switches over ``NWEndpoint`` compiles.
public enum nw_endpoint_t: Hashable, Sendable {}

// MARK: - Ports

extension NWEndpoint {
    /// A port of a transport protocol.
    public struct Port: Hashable, Sendable, RawRepresentable {
        /// The number.
        public let rawValue: UInt16

        /// Creates a port from a number.
        ///
        /// The result is never `nil`.
        public init?(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Reads a decimal number or the name of a service, such as `https`; `nil` for other text.
        ///
        /// Known names are those of the constants below, and those of the system's service database
        /// (`/etc/services`).
        public init?(_ service: String) {
            let number =
                service.allSatisfy(\.isNumber)
                ? UInt16(service) : Self.known[service] ?? Self.systemPort(service)
            guard let number else { return nil }
            rawValue = number
        }

        /// The port 0, which means any port.
        public static let any: Port = 0
        /// Port 22.
        public static let ssh: Port = 22
        /// Port 25.
        public static let smtp: Port = 25
        /// Port 80.
        public static let http: Port = 80
        /// Port 110.
        public static let pop: Port = 110
        /// Port 143.
        public static let imap: Port = 143
        /// Port 443.
        public static let https: Port = 443
        /// Port 993.
        public static let imaps: Port = 993
        /// Port 1080.
        public static let socks: Port = 1080

        /// The names that are also known on hosts without a service database.
        private static let known: [String: UInt16] = [
            "ssh": 22, "smtp": 25, "http": 80, "pop3": 110, "imap": 143, "https": 443, "imaps": 993,
            "socks": 1080,
        ]

        private static func systemPort(_ service: String) -> UInt16? {
            var hints = addrinfo()
            hints.ai_family = AF_INET
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var first: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(nil, service, &hints, &first) == 0 else { return nil }
            defer { freeaddrinfo(first) }
            return first?.pointee.ai_addr?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
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
