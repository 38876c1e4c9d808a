// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import RoutingSimulation

extension SimulatedHost {
    /// Adds an address to an interface: `ip addr add 192.0.2.2/24 dev eth0`.
    ///
    /// ```swift
    /// try host.addAddress("192.0.2.2/24", to: "eth0")
    /// try host.addAddress("198.51.100.2/32", to: "ppp0", peer: "198.51.100.1")
    /// ```
    ///
    /// The routes of the address are added too: the one to the address itself and, when the interface is up, the one
    /// to its subnet.
    ///
    /// - Parameters:
    ///   - text: The address with the length of its subnet's prefix, such as `192.0.2.2/24` or
    ///     `2001:db8::2/64`.
    ///   - interface: The interface's name.
    ///   - peer: The address at the other end of a point-to-point interface; the prefix length is that one's.
    /// - Throws: ``SimulationError`` when the text is not such an address, the interface does not exist or already has
    ///   the address.
    public mutating func addAddress(
        _ text: String,
        to interface: String,
        peer: String? = nil
    ) throws(SimulationError) {
        let index = try index(of: interface)
        let (address, length) = try Parsing.addressWithLength(text)
        let own = InterfaceAddress(
            interfaceIndex: index,
            address: address,
            peer: try peer.map(Parsing.address),
            prefixLength: UInt8(length),
            scope: address.family == .v6 && address.isLinkLocal ? .link : .universe,
            flags: .permanent
        )
        guard !routing.snapshot.addresses.contains(where: { $0.isSame(as: own) }) else {
            throw SimulationError(.addressExists, "\"\(interface)\" already has the address \(text)")
        }
        if interfaces[index]?.kind == .onDemandPPP,
            let placeholder = addresses.first(where: { $0.isSame(as: placeholder(index)) })
        {
            remove(placeholder)
        }
        insert(own)
    }

    /// Removes an address from an interface: `ip addr del 192.0.2.2/24 dev eth0`.
    ///
    /// ```swift
    /// try host.removeAddress("192.0.2.2", from: "eth0")
    /// ```
    ///
    /// With the last IPv4 address of an interface, all its IPv4 routes are removed without a notification.
    ///
    /// - Parameters:
    ///   - text: The address, with or without the length of its prefix.
    ///   - interface: The interface's name.
    /// - Throws: ``SimulationError`` when the interface does not exist or does not have the address.
    public mutating func removeAddress(_ text: String, from interface: String) throws(SimulationError) {
        let index = try index(of: interface)
        let length = text.contains("/") ? try Parsing.addressWithLength(text).length : nil
        let address = try Parsing.address(String(text.prefix { $0 != "/" }))
        let own = routing.snapshot.addresses.first { own in
            own.interfaceIndex == index && own.address == address
                && (length.map { $0 == own.prefixLength } ?? true)
        }
        guard let own else {
            let known = addresses.filter { $0.interfaceIndex == index }
                .map { "\($0.address)/\($0.prefixLength)" }.joined(separator: ", ")
            throw SimulationError(
                .unknownAddress,
                "\"\(interface)\" does not have the address \(text); it has \(known.isEmpty ? "none" : known)"
            )
        }
        remove(own)
    }
}

// MARK: - Side effects

extension SimulatedHost {
    mutating func insert(_ address: InterfaceAddress) {
        var address = address
        if address.address.family == .v4, subnetMates(of: address).contains(where: \.isPrimary) {
            address.flags.insert(.secondary)
        }
        apply(.address(address), .address(isLoss: false))
        switch address.address.family {
        case .v4:
            for route in ownRoutes(of: address) { insert(route) }
        case .v6:
            guard interfaces[address.interfaceIndex]?.isUp == true else { return }
            insert(prefixRoute(of: address))
            if interfaces[address.interfaceIndex]?.isReady == true { insert(localRoute(of: address)) }
        }
    }

    mutating func remove(_ address: InterfaceAddress) {
        // Secondary addresses are removed with their primary one: the setting promote_secondaries is off.
        if address.address.family == .v4, address.isPrimary {
            for mate in subnetMates(of: address) where !mate.isPrimary { remove(mate) }
        }
        let rest = routing.snapshot.addresses(
            ofInterface: address.interfaceIndex, family: address.address.family
        )
        .filter { !$0.isSame(as: address) }
        let stays = Set(rest.flatMap(allRoutes))
        for route in allRoutes(of: address) where !stays.contains(route) { remove(route) }
        apply(.removedAddress(address), .address(isLoss: true))
    }

    /// The other IPv4 addresses of an interface in the same subnet.
    private func subnetMates(of address: InterfaceAddress) -> [InterfaceAddress] {
        routing.snapshot.addresses(ofInterface: address.interfaceIndex, family: .v4).filter {
            $0.prefixLength == address.prefixLength && $0.subnet == address.subnet
                && !$0.isSame(as: address)
        }
    }

    // MARK: IPv6

    /// Configures IPv6 on an interface that has just become able to send.
    mutating func becomeReady(_ index: UInt32) {
        guard let interface = interfaces[index], interface.isUp, interface.hasCarrier, !interface.isDormant,
            !interface.isReady
        else { return }
        interfaces[index]?.isReady = true
        if interface.kind == .loopback {
            let address = IPAddress.loopbackV6
            insert(InterfaceAddress(interfaceIndex: index, address: address, prefixLength: 128, scope: .host))
            return
        }
        if interface.kind.hasLinkLocal {
            let address = IPAddress(v6High: 0xfe80 << 48, low: 0x0000_00ff_fe00_0000 | UInt64(index))
            insert(
                InterfaceAddress(
                    interfaceIndex: index,
                    address: address,
                    prefixLength: 64,
                    scope: .link,
                    flags: .permanent
                )
            )
        }
        insert(multicastRoute(index))
        for address in routing.snapshot.addresses(ofInterface: index, family: .v6) {
            insert(localRoute(of: address))
        }
    }

    // MARK: Dial on demand

    func placeholder(_ index: UInt32) -> InterfaceAddress {
        InterfaceAddress(
            interfaceIndex: index,
            address: IPAddress(10, 64, 64, 64),
            peer: IPAddress(10, 112, 112, 112),
            prefixLength: 32,
            flags: .permanent
        )
    }
}

extension InterfaceAddress {
    var isPrimary: Bool { !flags.contains(.secondary) }

    /// The prefix of the link.
    var subnet: IPPrefix? { IPPrefix(peer ?? address, length: Int(prefixLength)) }

    func isSame(as other: InterfaceAddress) -> Bool {
        interfaceIndex == other.interfaceIndex && address == other.address
            && (address.family == .v6 || (prefixLength == other.prefixLength && peer == other.peer))
    }
}
