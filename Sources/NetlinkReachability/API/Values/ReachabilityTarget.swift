// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// The target of a query: a host name, an address, a pair of addresses, or the default path.
///
/// ```swift
/// switch target.kind {
/// case .host(let name): print("resolves \(name)")
/// case .address(let address): print("asks about \(address)")
/// case .pair(let local, let remote): print("asks about \(remote) from \(local)")
/// case .defaultPath: print("asks about the default path")
/// }
/// ```
public struct ReachabilityTarget: Hashable, Sendable {
    /// The four kinds of targets, for a `switch`.
    ///
    /// A new kind would be part of a new major version.
    public enum Kind: Hashable, Sendable {
        /// A host name, which each query resolves again.
        case host(String)
        /// An address. 0.0.0.0 and :: without a zone are ``defaultPath`` instead.
        case address(IPAddress)
        /// A remote address, from a socket that is bound to a local address.
        case pair(local: IPAddress, remote: IPAddress)
        /// The default path.
        case defaultPath
    }

    /// The target's kind, with its name or addresses.
    public let kind: Kind

    /// The default path: the path to the public Internet.
    ///
    /// A query of the default path looks up a few public addresses.
    ///
    /// Apple's counterpart is the zero address, 0.0.0.0.
    public static let defaultPath = ReachabilityTarget(kind: .defaultPath)

    /// An address.
    ///
    /// The zero addresses 0.0.0.0 and :: stand for the default path; with a zone, for the default path through
    /// that interface.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithAddress`.
    public static func address(_ address: IPAddress) -> ReachabilityTarget {
        let isDefaultPath = address.unmapped.isUnspecified && address.zone == nil
        return ReachabilityTarget(kind: isDefaultPath ? .defaultPath : .address(address))
    }

    /// A remote address, from a socket that is bound to a local address.
    ///
    /// A target whose local address does not belong to this host is not reachable. The local address is ignored if it
    /// is unspecified, or if it is a loopback address and the remote one is not. Apple's systems do the same.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithAddressPair`.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidAddress` if one address is
    ///   IPv4 and the other IPv6. IPv4-mapped addresses belong to IPv4.
    public static func pair(
        local: IPAddress,
        remote: IPAddress
    ) throws(ReachabilityError) -> ReachabilityTarget {
        let (own, other) = (local.unmapped, remote.unmapped)
        if own.isUnspecified || (own.isLoopback && !other.isLoopback) { return .address(remote) }
        guard own.family == other.family else {
            throw ReachabilityError(
                .invalidAddress,
                operation: "pair two addresses",
                message:
                    "\(local) and \(remote) are of different families: give two IPv4 or two IPv6 addresses"
            )
        }
        return ReachabilityTarget(kind: .pair(local: own, remote: other))
    }

    /// A host name or a numeric address in a user's text.
    ///
    /// A numeric address never uses the resolver. It can also be in numbers-and-dots notation (`127.1`), and can have
    /// a zone (`fe80::1%eth0`).
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithName`.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidHost` if the text is neither a
    ///   name nor an address. Its message says what to write instead.
    public static func host(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        try HostText(text: text).target()
    }

    /// A socket address.
    ///
    /// The port is ignored; `sin6_scope_id` is the address's zone.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address; it is copied and needs no alignment.
    ///   - length: The size of the socket address, in bytes.
    /// - Returns: Its address as a target.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidAddress` if the socket
    ///   address is too short for its family, `ReachabilityError.Code.unsupportedFamily` if its family is
    ///   neither IPv4 nor IPv6.
    public static func sockaddr(
        _ sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t
    ) throws(ReachabilityError) -> ReachabilityTarget {
        .address(try IPAddress(sockaddr: sockaddr, length: length))
    }
}

extension ReachabilityTarget {
    /// The address; `nil` for other kinds of targets.
    var address: IPAddress? {
        if case .address(let address) = kind { address } else { nil }
    }

    /// The host name; `nil` for other kinds of targets.
    package var name: String? {
        if case .host(let name) = kind { name } else { nil }
    }
}

extension ReachabilityTarget: CustomStringConvertible {
    /// The target in the form that a user would write.
    public var description: String {
        switch kind {
        case .host(let name): name
        case .address(let address): address.description
        case .pair(let local, let remote): "\(local) -> \(remote)"
        case .defaultPath: "default"
        }
    }
}

// MARK: - Coding

extension ReachabilityTarget: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case host, address, local, remote
    }

    /// Decodes a target from an object with the key `host`, `address`, or `local` and `remote`.
    ///
    /// All values are text. An empty object is the default path.
    ///
    /// - Throws: `DecodingError` if the object has another form or another key; `ReachabilityError` if a text is not a
    ///   host.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.input(keyedBy: CodingKeys.self)
        switch Set(values.allKeys) {
        case []: self = .defaultPath
        case [.host]: self = try .host(values.decode(String.self, forKey: .host))
        case [.address]: self = .address(try values.decode(IPAddress.self, forKey: .address))
        case let keys where keys.isDisjoint(with: [.host, .address]):
            self = try .pair(
                local: values.decode(IPAddress.self, forKey: .local),
                remote: values.decode(IPAddress.self, forKey: .remote))
        default:
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "a target has the key host, address, or local and remote"))
        }
    }

    /// Encodes the target as an object with its name or its addresses.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch kind {
        case .host(let name): try values.encode(name, forKey: .host)
        case .address(let address): try values.encode(address, forKey: .address)
        case .pair(let local, let remote):
            try values.encode(local, forKey: .local)
            try values.encode(remote, forKey: .remote)
        case .defaultPath: break
        }
    }
}

// MARK: - Text

/// Parses a host from a user's text.
///
/// The error for an invalid host says what to write instead.
struct HostText {
    /// The longest name in DNS, in bytes, without a final dot.
    private static let longestName = 253
    private static let longestLabel = 63

    /// The longest text that is parsed, in bytes.
    ///
    /// Pasted URLs are shorter.
    private static let longestText = 4_096

    let text: String

    func target() throws(ReachabilityError) -> ReachabilityTarget {
        guard text.utf8.count <= Self.longestText else { throw tooLong(text[...]) }
        if let address = IPAddress(text) ?? scopedLegacy { return .address(address) }
        try refuseDecoration()
        try refuseAddressLike()
        try refuseBadName()
        return ReachabilityTarget(kind: .host(text))
    }

    /// A number with dots as inet_aton() parses it, with or without a zone.
    private var scopedLegacy: IPAddress? {
        guard let percent = text.firstIndex(of: "%") else { return IPAddress.legacyIPv4(text) }
        guard var address = IPAddress.legacyIPv4(text[..<percent]),
            let zone = ZoneIdentifier(String(text[text.index(after: percent)...]))
        else { return nil }
        address.zone = zone
        return address
    }

    // MARK: Text around a host

    private func refuseDecoration() throws(ReachabilityError) {
        guard !text.isEmpty else {
            throw invalid("the host is empty: give a name such as example.com, or an address")
        }
        if let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") {
            throw refusal("is a URL: \(advice(text[colon...].dropFirst(3)))")
        }
        if text.contains("/") { throw refusal("has a path or a prefix length: \(advice(text[...]))") }
        if text.first == "[" || text.contains("@") || hasPort(text[...]) {
            throw refusal("contains more than a host: \(advice(text[...]))")
        }
    }

    private func advice(_ authority: Substring) -> String {
        let host = host(inAuthority: authority)
        return host.isEmpty ? "give the host alone" : "give the host alone, \(cleaned(host))"
    }

    /// Removes user, port, path and brackets.
    private func host(inAuthority text: Substring) -> Substring {
        var rest = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        if rest.first == "[" { return rest.dropFirst().prefix { $0 != "]" } }
        return hasPort(rest) ? rest.prefix { $0 != ":" } : rest
    }

    /// Whether the text ends in a colon and a port.
    ///
    /// Text with two colons is treated as an invalid IPv6 address.
    private func hasPort(_ text: Substring) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let (host, port) = (text[..<colon], text[text.index(after: colon)...])
        if port.allSatisfy({ $0.isASCII && $0.isNumber }) { return true }
        // A service name, after text that is not a group of an IPv6 address.
        return !port.contains(":") && !host.allSatisfy(\.isHexDigit)
    }

    // MARK: Text that looks like an address

    private func refuseAddressLike() throws(ReachabilityError) {
        if let percent = text.firstIndex(of: "%") { try refuseZone(of: text[..<percent]) }
        if text.contains(":") {
            throw refusal("is not an IPv6 address: check its groups, as in 2001:db8::1")
        }
        if !text.contains(where: \.isWhitespace), let last = text.split(separator: ".").last,
            last.allSatisfy({ $0.isASCII && $0.isNumber })
        {
            throw refusal("is not an IPv4 address: give four numbers up to 255, as in 192.0.2.1")
        }
    }

    private func refuseZone(of host: Substring) throws(ReachabilityError) {
        if host.isEmpty {
            throw refusal("has no address before its interface: give both, as in fe80::1%eth0")
        }
        if IPAddress(host) != nil || IPAddress.legacyIPv4(host) != nil {
            throw refusal(
                "does not name an interface: give a name of 1 to 15 bytes or an index after the %")
        }
        guard !host.contains(":") else { return }
        throw refusal(
            "puts an interface on a name: ask about \(cleaned(host)) and give the interface as an option")
    }

    // MARK: Names

    private func refuseBadName() throws(ReachabilityError) {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        guard name.utf8.count <= Self.longestName else { throw tooLong(name) }
        for label in name.split(separator: ".", omittingEmptySubsequences: false) {
            if label.isEmpty { throw refusal("has an empty part: give a name such as example.com") }
            guard label.utf8.count <= Self.longestLabel else {
                throw invalid(
                    "a part of \(quoted) has \(label.utf8.count) bytes: it may have \(Self.longestLabel)")
            }
        }
        if let bad = name.unicodeScalars.first(where: { !isAllowed($0) }) {
            throw refusal("has \(named(bad)) in it: give a name such as example.com")
        }
    }

    /// Whether a name can contain the scalar.
    ///
    /// The resolver encodes non-ASCII scalars.
    private func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
        // Some scripts need joiners in names, although they are format characters.
        case "\u{200C}", "\u{200D}": true
        default: !scalar.isASCII && !scalar.properties.isWhitespace && isPrintable(scalar)
        }
    }

    private func named(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case " ": "a space"
        case "\t", "\n", "\r": "white space"
        case _ where !isPrintable(scalar): "a control character"
        case _ where scalar.properties.isWhitespace: "white space"
        default: "the character \(scalar)"
        }
    }

    // MARK: Messages

    private func refusal(_ what: String) -> ReachabilityError { invalid("\(quoted) \(what)") }

    private func tooLong(_ name: Substring) -> ReachabilityError {
        invalid("the name has \(name.utf8.count) bytes: a host name has at most \(Self.longestName)")
    }

    private func invalid(_ message: String) -> ReachabilityError {
        ReachabilityError(.invalidHost, operation: "read a host", message: message)
    }

    /// The text for an error message: short, and without characters that affect a terminal.
    private var quoted: String { "\"" + cleaned(text[...]) + "\"" }

    private func cleaned(_ text: Substring) -> String {
        let start = text.unicodeScalars.prefix(80)
        let shown = start.map { isPrintable($0) ? String($0) : "?" }.joined()
        return shown + (start.endIndex < text.endIndex ? "…" : "")
    }

    /// Whether a scalar is safe to print.
    ///
    /// Control characters move the cursor, and format characters change the writing direction.
    private func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
