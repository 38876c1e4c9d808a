// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// What to ask about: a host name, an address, a pair of addresses, or the default path.
public struct ReachabilityTarget: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case host(String)
        case address(IPAddress)
        case pair(local: IPAddress, remote: IPAddress)
        case defaultPath
    }

    package let kind: Kind

    /// The default path, the way to anywhere.
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

    /// A remote address, as a socket that is bound to a local address sees it.
    ///
    /// A local address that this host does not have makes the answer "not reachable".
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithAddressPair`.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidAddress`` when one is
    ///   IPv4 and the other IPv6. Addresses that are IPv4-mapped count as IPv4.
    public static func pair(
        local: IPAddress,
        remote: IPAddress
    ) throws(ReachabilityError) -> ReachabilityTarget {
        let (own, other) = (local.unmapped, remote.unmapped)
        // Apple's quirk: a loopback address cannot be the source of anything else, so it is taken for none.
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
    /// Numeric addresses never touch the resolver; besides the usual forms they can be in numbers-and-dots
    /// notation (`127.1`) and carry an interface (`fe80::1%eth0`).
    ///
    /// Apple's counterpart is `SCNetworkReachabilityCreateWithName`.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidHost`` when the text is
    ///   neither, with what to write instead.
    public static func host(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        try HostText.target(text)
    }

    /// A socket address.
    ///
    /// The port is ignored; `sin6_scope_id` names the interface.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address; it is copied.
    ///   - length: The size of what it points to, in bytes.
    /// - Returns: Its address as a target.
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/invalidAddress`` when it is too
    ///   short for its family, ``ReachabilityError/Code/unsupportedFamily`` when it is neither.
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
