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
        if kinds[index] == .onDemandPPP,
            let placeholder = addresses.first(where: { $0.isSame(as: placeholder(index)) })
        {
            state.remove(placeholder)
        }
        state.insert(own)
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
        state.remove(own)
    }
}

extension SimulatedHost {
    /// The address that pppd sets on a link that it dials on demand.
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
