// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// What a question is about: a host name, an address, a pair of addresses, or the default path.
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
    /// The four kinds of targets, to switch over.
    ///
    /// A new kind would be part of a new major version.
    public enum Kind: Hashable, Sendable {
        /// A host name, which is resolved each time it is asked about.
        case host(String)
        /// An address; never 0.0.0.0 or :: without a zone, which are ``defaultPath``.
        case address(IPAddress)
        /// A remote address, as a socket sees it that is bound to a local one.
        case pair(local: IPAddress, remote: IPAddress)
        /// The default path.
        case defaultPath
    }

    /// The target's kind, with its name or addresses.
    public let kind: Kind

    /// The default path: the route to addresses that no other route contains.
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

    /// A remote address, as a socket sees it that is bound to a local address.
    ///
    /// A target whose local address does not belong to this host is not reachable. A local address that is
    /// unspecified, or loopback where the remote one is not, is ignored, as Apple's systems do.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithAddressPair`.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidAddress`` if one address is
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

    /// A host name or a numeric address, as a user writes it.
    ///
    /// A numeric address never uses the resolver. Besides the usual forms it can be in numbers-and-dots notation
    /// (`127.1`) and have a zone (`fe80::1%eth0`).
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithName`.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidHost`` if the text is
    ///   neither; its message says what to write instead.
    public static func host(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        try HostText.target(text)
    }

    /// A socket address.
    ///
    /// The port is ignored; `sin6_scope_id` is the address's zone.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address; it is copied and needs no alignment.
    ///   - length: The size of the socket address, in bytes.
    /// - Returns: Its address as a target.
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidAddress`` if the socket
    ///   address is too short for its family, ``ReachabilityError/Code/unsupportedFamily`` if its family is
    ///   neither IPv4 nor IPv6.
    public static func sockaddr(
        _ sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t
    ) throws(ReachabilityError) -> ReachabilityTarget {
        .address(try IPAddress(sockaddr: sockaddr, length: length))
    }
}

extension ReachabilityTarget: CustomStringConvertible {
    /// The target as a user would write it.
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
    private enum CodingKeys: String, CodingKey {
        case host, address, local, remote
    }

    /// Decodes a target from an object with the key `host`, `address`, or `local` and `remote`, all of them text;
    /// an empty object is the default path.
    ///
    /// - Throws: `DecodingError` if the object has another form; ``ReachabilityError`` if a text is not a host.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let name = try values.decodeIfPresent(String.self, forKey: .host) {
            self = try .host(name)
        } else if let address = try values.decodeIfPresent(IPAddress.self, forKey: .address) {
            self = .address(address)
        } else if let remote = try values.decodeIfPresent(IPAddress.self, forKey: .remote) {
            self = try .pair(local: values.decode(IPAddress.self, forKey: .local), remote: remote)
        } else {
            self = .defaultPath
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
