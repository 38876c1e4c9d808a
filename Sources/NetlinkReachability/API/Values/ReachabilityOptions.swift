// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// The socket that a query is about, and how a name is resolved for it.
///
/// The defaults describe an unbound, unmarked socket of the current user. The kernel can select another route for a
/// socket that is bound or marked: set the same options here that the program sets on its socket. Numbers are the
/// kernel's, in host byte order. `nil` means that the program does not set the option.
///
/// ```swift
/// var options = ReachabilityOptions()
/// options.interface = "eth0"
/// options.families = .v4
/// let reachability = try NetworkReachability(host: "example.com", options: options)
/// ```
public struct ReachabilityOptions: Hashable, Sendable {
    /// A set of address families.
    public struct Families: OptionSet, Hashable, Sendable, Codable {
        /// The set's bits.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// IPv4.
        public static let v4 = Families(rawValue: 1)
        /// IPv6.
        public static let v6 = Families(rawValue: 2)
        /// IPv4 and IPv6.
        public static let all: Families = [.v4, .v6]
    }

    /// The address families that the program uses.
    ///
    /// Addresses of other families are ignored. An IPv4-mapped IPv6 address belongs to IPv4.
    public var families: Families = .all
    /// The interface that the socket is bound to (`SO_BINDTODEVICE`); `nil` for none.
    ///
    /// Loopback targets are reachable only through the loopback interface.
    public var interface: InterfaceReference?
    /// The address that the socket is bound to (`bind(2)`); `nil` for none.
    public var sourceAddress: IPAddress?
    /// The socket's mark (`SO_MARK`), which policy rules can match; 0 for none.
    public var mark: UInt32 = 0
    /// The socket's user, which policy rules can match; `nil` for the current user.
    public var user: UInt32?
    /// The IP protocol, which policy rules can match; `nil` for UDP.
    ///
    /// The kernel looks up only TCP, UDP and ICMP; a query with another protocol is an error. A recording answers for
    /// all protocols.
    public var ipProtocol: IPProtocol?
    /// The source port, which policy rules can match, in host byte order; `nil` for none.
    public var sourcePort: UInt16?
    /// The destination port, which policy rules can match, in host byte order; `nil` for none.
    public var destinationPort: UInt16?
    /// The type of service (`IP_TOS`) or the traffic class (`IPV6_TCLASS`), which policy rules and routes can match.
    public var typeOfService: UInt8 = 0
    /// How a name is resolved before the query.
    ///
    /// It does not describe the socket.
    public var resolution = Resolution()

    /// How names are resolved.
    public struct Resolution: Hashable, Sendable, Codable {
        /// The longest time that the resolver can take for a name.
        ///
        /// It includes the wait for one of the 64 lookups that can run at the same time. With zero, the system's
        /// resolver is not called, and the name is not resolved in time (``ReachabilityReason/Code/nameTimedOut``).
        public var timeout: Duration

        /// Describes how names are resolved, by default within 5 seconds.
        public init(timeout: Duration = .seconds(5)) {
            self.timeout = timeout
        }

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case timeout
        }

        /// Decodes how names are resolved.
        ///
        /// - Throws: `DecodingError` if the object has another form or another key.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.input(keyedBy: CodingKeys.self)
            timeout = try values.decode(Duration.self, forKey: .timeout)
        }
    }

    /// Creates the options of an unbound, unmarked socket of the current user, with 5 seconds for the resolver.
    public init() {}

    /// Sets the mark, the user and the flow of a query.
    func apply(to query: inout RouteQuery) {
        query.mark = mark
        query.user = user
        let isICMPv6 = ipProtocol == .icmp && query.destination.unmapped.family == .v6
        query.ipProtocol = isICMPv6 ? UInt8(IPPROTO_ICMPV6) : ipProtocol?.rawValue
        query.sourcePort = sourcePort
        query.destinationPort = destinationPort
        query.typeOfService = typeOfService
    }

    /// The address that the socket is bound to; `nil` for 0.0.0.0 and ::, which do not bind a socket.
    var localAddress: IPAddress? {
        guard let address = sourceAddress?.unmapped, !address.isUnspecified else { return nil }
        return address
    }

    /// Whether the program uses a family.
    func admits(_ family: IPAddress.Family) -> Bool {
        families.contains(family == .v4 ? .v4 : .v6)
    }
}

// MARK: - Coding

extension ReachabilityOptions: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case families, interface, sourceAddress, mark, user, ipProtocol, sourcePort, destinationPort
        case typeOfService, resolution
    }

    /// Decodes options.
    ///
    /// A missing option has its default.
    ///
    /// - Throws: `DecodingError` if an option has a value of another type, or if there is no such option.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.input(keyedBy: CodingKeys.self)
        families = try values.decodeIfPresent(Families.self, forKey: .families) ?? families
        interface = try values.decodeIfPresent(InterfaceReference.self, forKey: .interface)
        sourceAddress = try values.decodeIfPresent(IPAddress.self, forKey: .sourceAddress)
        mark = try values.decodeIfPresent(UInt32.self, forKey: .mark) ?? mark
        user = try values.decodeIfPresent(UInt32.self, forKey: .user)
        ipProtocol = try values.decodeIfPresent(IPProtocol.self, forKey: .ipProtocol)
        sourcePort = try values.decodeIfPresent(UInt16.self, forKey: .sourcePort)
        destinationPort = try values.decodeIfPresent(UInt16.self, forKey: .destinationPort)
        typeOfService = try values.decodeIfPresent(UInt8.self, forKey: .typeOfService) ?? typeOfService
        resolution = try values.decodeIfPresent(Resolution.self, forKey: .resolution) ?? resolution
    }
}

// MARK: - Text

extension ReachabilityOptions: CustomStringConvertible {
    /// The options that differ from the defaults, such as `interface eth0, mark 0x2a`; `default` if none differs.
    public var description: String {
        let defaults = ReachabilityOptions()
        var words: [String] = []
        if families != defaults.families {
            words.append(families == .v4 ? "IPv4" : families == .v6 ? "IPv6" : "no family")
        }
        if let interface { words.append("interface \(interface)") }
        if let sourceAddress { words.append("source \(sourceAddress)") }
        if mark != defaults.mark { words.append("mark 0x\(String(mark, radix: 16))") }
        if let user { words.append("user \(user)") }
        if let ipProtocol { words.append("protocol \(ipProtocol)") }
        if let sourcePort { words.append("source port \(sourcePort)") }
        if let destinationPort { words.append("port \(destinationPort)") }
        if typeOfService != defaults.typeOfService {
            words.append("tos 0x\(String(typeOfService, radix: 16))")
        }
        if resolution != defaults.resolution { words.append("timeout \(resolution.timeout)") }
        return words.isEmpty ? "default" : words.joined(separator: ", ")
    }
}

/// A reference to an interface: by its name, by its index, or by a user's text that can be either.
///
/// ```swift
/// options.interface = "eth0"
/// options.interface = InterfaceReference(index: 3)
/// options.interface = InterfaceReference(nameOrIndex: text)     // "eth0" or "3"
/// ```
///
/// Each evaluation looks the interface up, as a new socket does. The counterparts are `IFLA_IFNAME`,
/// `IFLA_ALT_IFNAME` and `ifi_index`.
public struct InterfaceReference: Hashable, Sendable, Codable {
    /// The name, which can be an alternative name (altname); `nil` for a reference by index.
    public let name: String?
    /// The index; `nil` for a reference by name.
    ///
    /// If there is also a name, the index is used only if no interface has that name.
    public let index: UInt32?

    /// Refers to an interface by its name.
    public init(name: String) {
        (self.name, index) = (name, nil)
    }

    /// Refers to an interface by its index.
    ///
    /// This also works if its name is not UTF-8.
    public init(index: UInt32) {
        (name, self.index) = (nil, index)
    }

    /// Refers to an interface by a user's text: a name, or an index if no interface has that name.
    ///
    /// An index consists of decimal digits, and is not 0.
    public init(nameOrIndex text: String) {
        name = text
        index = ZoneIdentifier(text)?.index
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name, index
    }

    /// Decodes a reference with a name, an index, or both.
    ///
    /// - Throws: `DecodingError` if the object has another form or another key, or has neither a name nor an index.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.input(keyedBy: CodingKeys.self)
        index = try values.decodeIfPresent(UInt32.self, forKey: .index)
        name =
            index == nil
            ? try values.decode(String.self, forKey: .name)
            : try values.decodeIfPresent(String.self, forKey: .name)
    }

    /// The interface of the address's zone, else of the options, else of the local address's zone; `nil` if there is
    /// none.
    init?(of destination: IPAddress, from local: IPAddress?, _ options: ReachabilityOptions) {
        if let zone = destination.zone {
            self.init(nameOrIndex: zone.description)
        } else if let interface = options.interface {
            self = interface
        } else if let zone = local?.zone {
            self.init(nameOrIndex: zone.description)
        } else {
            return nil
        }
    }

    /// The reason for a target while no such interface exists.
    var absence: ReachabilityReason {
        if let index {
            ReachabilityReason(.noInterface, other: "\(index)")
        } else {
            ReachabilityReason(.noInterface, name ?? "")
        }
    }
}

extension InterfaceReference: ExpressibleByStringLiteral {
    /// Refers to an interface by its name.
    public init(stringLiteral name: String) {
        self.init(name: name)
    }
}

extension InterfaceReference: CustomStringConvertible {
    /// The name, or the index in decimal.
    public var description: String {
        name ?? index.map { "\($0)" } ?? ""
    }
}

extension ReachabilityOptions {
    /// The protocol of an IP packet, such as TCP.
    ///
    /// An integer literal is a protocol: `options.ipProtocol = 132`. The protocol is encoded as its number.
    ///
    /// The kernel's counterpart is the protocol field of the IP header, `IPPROTO_TCP` and so on.
    public struct IPProtocol: RawRepresentable, Hashable, Sendable, Codable {
        /// The protocol's number.
        public let rawValue: UInt8

        /// Creates a protocol from its number.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// TCP.
        public static let tcp = Self(rawValue: UInt8(IPPROTO_TCP))
        /// UDP.
        public static let udp = Self(rawValue: UInt8(IPPROTO_UDP))
        /// ICMP.
        ///
        /// For an IPv6 destination, it means ICMPv6.
        public static let icmp = Self(rawValue: UInt8(IPPROTO_ICMP))
    }
}

extension ReachabilityOptions.IPProtocol: ExpressibleByIntegerLiteral {
    /// Creates a protocol from the number of a literal.
    public init(integerLiteral value: UInt8) {
        self.init(rawValue: value)
    }
}

extension ReachabilityOptions.IPProtocol: CustomStringConvertible {
    /// `tcp`, `udp`, `icmp`, or the number of another protocol.
    public var description: String {
        switch self {
        case .tcp: "tcp"
        case .udp: "udp"
        case .icmp: "icmp"
        default: "\(rawValue)"
        }
    }
}

// MARK: - Decoding what users write

extension Decoder {
    /// A container of an object that a user writes.
    ///
    /// An unknown key is an error, because a user writes the object; a newer version cannot have added the key.
    ///
    /// - Throws: `DecodingError` that names the unknown key and the valid keys.
    func input<Key: CodingKey & CaseIterable>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        let unknown = try container(keyedBy: AnyKey.self).allKeys.filter {
            Key(stringValue: $0.stringValue) == nil
        }
        if let key = unknown.min(by: { $0.stringValue < $1.stringValue }) {
            let known = Key.allCases.map(\.stringValue).joined(separator: ", ")
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: codingPath + [key],
                    debugDescription: "there is no key \(key.stringValue): the keys are \(known)"))
        }
        return try container(keyedBy: type)
    }
}

/// Any key of an object.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue _: Int) { return nil }
}
