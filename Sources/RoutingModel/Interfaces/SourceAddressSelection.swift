// SPDX-License-Identifier: Apache-2.0

/// The source address that the kernel selects for an IPv6 destination (RFC 6724, section 5).
///
/// The rules are those of `ipv6_dev_get_saddr`, in its order: the destination itself, scope, not deprecated, on the
/// outgoing interface, label, public or temporary, ORCHID, the longest common prefix, not optimistic. The policy
/// table is the kernel's default (`net/ipv6/addrlabel.c`).
///
/// What it cannot know: labels that `ip addrlabel` added, preferences of a socket (IPV6_ADDR_PREFERENCES), and home
/// addresses.
package enum SourceAddressSelection {
    /// The addresses that the kernel can select, in the order of `addresses`.
    ///
    /// Of addresses that no rule distinguishes, the kernel selects the first in its own list. A dump does not always
    /// show that order, so all of them are returned. A dump also does not show whether an interface prefers temporary
    /// addresses (`use_tempaddr`), so the addresses for both preferences are returned.
    ///
    /// - Parameters:
    ///   - destination: The IPv6 destination.
    ///   - addresses: The addresses of this host, or of one VRF with its ports. IPv4 addresses are ignored.
    ///   - interface: The index of the outgoing interface; 0 if it is unknown, as in the second lookup of a socket
    ///     whose first lookup was rejected.
    ///   - onInterfaceAlone: Whether only addresses of the outgoing interface count, to any destination
    ///     (`use_oif_addrs_only`).
    /// - Returns: One address, several that tie, or none if the host has no usable address.
    package static func candidates(
        for destination: IPAddress,
        among addresses: [InterfaceAddress],
        outgoingInterface interface: UInt32 = 0,
        onInterfaceAlone: Bool = false
    ) -> [IPAddress] {
        let isOnOneLink =
            onInterfaceAlone || destination.isMulticast || destination.sourceScope <= IPAddress.linkLocalScope
        let usable = addresses.filter {
            $0.address.family == .v6 && $0.isAssigned
                && (interface == 0 || !isOnOneLink || $0.interfaceIndex == interface)
        }
        var selected: Set<IPAddress> = []
        for prefersTemporary in [false, true] {
            let scores = usable.map {
                score($0, destination, interface: interface, prefersTemporary: prefersTemporary)
            }
            guard let best = scores.max(by: { $0.lexicographicallyPrecedes($1) }) else { continue }
            for (address, score) in zip(usable, scores) where score == best {
                selected.insert(address.address.withoutZone)
            }
        }
        return usable.map(\.address.withoutZone).filter { selected.remove($0) != nil }
    }
}

extension SourceAddressSelection {
    /// The IPv4 source address that the kernel selects for a route without a preferred source: `inet_select_addr`.
    ///
    /// An address with a narrower scope than the destination is skipped.
    ///
    /// - Parameters:
    ///   - gateway: The gateway, whose subnet is preferred; `nil` if the destination is on the link.
    ///   - scope: The scope of the route, which is the distance of the destination.
    ///   - routesLoopback: Whether the interface, or all, have `route_localnet`: an address of scope host then counts
    ///     as one of scope link.
    ///   - own: The addresses of the outgoing interface, in the order in which they were added.
    ///   - others: The addresses of the host, or of one VRF, in the order of the kernel's search: those of the VRF
    ///     itself, then those of each interface by its index.
    /// - Returns: The address; `nil` if no interface has a usable one.
    package static func selectIPv4(
        near gateway: IPAddress?,
        scope: RouteScope,
        routesLoopback: Bool,
        among own: [InterfaceAddress],
        orElse others: @autoclosure () -> [InterfaceAddress]
    ) -> IPAddress? {
        let narrowest: RouteScope = routesLoopback ? .link : .host
        let usable = own.inKernelOrder.filter {
            min($0.scope.rawValue, narrowest.rawValue) <= scope.rawValue
        }
        let mate = gateway.flatMap { gateway in usable.first { $0.subnet?.contains(gateway) ?? false } }
        if let address = mate ?? usable.first { return address.address }
        let isValid = { (other: InterfaceAddress) in
            other.scope != .link && other.scope.rawValue <= scope.rawValue
        }
        return others().first(where: isValid)?.address
    }

    /// The rank of an address by each rule, the most important rule first: `ipv6_get_saddr_eval`.
    private static func score(
        _ candidate: InterfaceAddress, _ destination: IPAddress, interface: UInt32, prefersTemporary: Bool
    ) -> [Int] {
        let address = candidate.address.withoutZone
        let flags = candidate.flags
        let scope = address.sourceScope
        let avoided: InterfaceAddressFlags = [.deprecated, .optimistic]
        let isFit = address.isAlwaysPreferred || flags.isDisjoint(with: avoided)
        let isThere = interface == 0 || candidate.interfaceIndex == interface
        return [
            address == destination.withoutZone ? 1 : 0,
            scope >= destination.sourceScope ? -scope : scope - 128,
            isFit ? 1 : 0,
            isThere ? 1 : 0,
            address.label == destination.label ? 1 : 0,
            flags.contains(.secondary) == prefersTemporary ? 1 : 0,
            address.isORCHID == destination.isORCHID ? 1 : 0,
            min((address.bits ^ destination.bits).leadingZeroBitCount, Int(candidate.prefixLength)),
            flags.contains(.optimistic) ? 0 : 1,
        ]
    }
}

extension [InterfaceAddress] {
    /// The primary IPv4 addresses of one interface in the order of the kernel's list, if these were added in this
    /// order: `inet_insert_ifa` inserts an address after those with the same or a wider scope.
    package var inKernelOrder: [InterfaceAddress] {
        // `sorted` is stable.
        filter { $0.address.family == .v4 && $0.isPrimary }.sorted { $0.scope.rawValue > $1.scope.rawValue }
    }
}

extension InterfaceAddress {
    /// Whether the address can be a source.
    ///
    /// A tentative address cannot, unless it is optimistic (RFC 4429).
    package var isAssigned: Bool {
        (!flags.contains(.tentative) || flags.contains(.optimistic)) && !address.isUnspecified
            && !address.isMulticast
    }
}

extension IPAddress {
    fileprivate static let linkLocalScope = 2

    /// The scope of an IPv6 address (RFC 4291, section 2.7): `__ipv6_addr_src_scope`.
    package var sourceScope: Int {
        if isMulticast { return Int(high >> 48 & 0xf) }
        if isUnspecified { return -1 }
        if isLinkLocal || isLoopback { return Self.linkLocalScope }
        return high >> 54 == 0xfec0 >> 6 ? 5 : 14
    }

    /// Whether the kernel prefers the address even if it is deprecated: `ipv6_saddr_preferred`.
    fileprivate var isAlwaysPreferred: Bool {
        isLoopback || isIPv4Mapped || isIPv4Compatible
    }

    private var isIPv4Compatible: Bool { high == 0 && low >> 32 == 0 && low > 1 }

    /// Whether the address is in 2001:10::/28 (RFC 4843).
    fileprivate var isORCHID: Bool { high >> 36 == 0x2001_001 }

    /// The label in the kernel's default policy table: RFC 6724, section 2.1, with ORCHID, and with other labels for
    /// unique local and Teredo addresses.
    fileprivate var label: Int {
        if isLoopback { return 0 }
        if isIPv4Mapped { return 4 }
        if high == 0, low >> 32 == 0 { return 3 }
        if isORCHID { return 7 }
        if high >> 32 == 0x2001_0000 { return 6 }
        if high >> 48 == 0x2002 { return 2 }
        if high >> 48 == 0x3ffe { return 12 }
        if high >> 54 == 0xfec0 >> 6 { return 11 }
        return high >> 57 == 0xfc00 >> 9 ? 5 : 1
    }
}
