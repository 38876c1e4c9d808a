// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel

extension SimulatedHost {
    /// Adds an address to an interface: `ip addr add 192.0.2.2/24 dev eth0`.
    ///
    /// ```swift
    /// try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
    /// try host.addAddress("198.51.100.2", prefixLength: 32, to: "ppp0", peer: "198.51.100.1")
    /// ```
    ///
    /// The routes of the address are added too: the route to the address itself and, if the interface is up, the route
    /// to its subnet.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - prefixLength: The length of its subnet's prefix, such as 24 or 64.
    ///   - interface: The interface's name.
    ///   - peer: The address at the other end of a point-to-point interface, to which the prefix length then applies.
    /// - Throws: ``SimulationError`` when the prefix is longer than the address, or the interface does not exist or
    ///   already has the address.
    public mutating func addAddress(
        _ address: some SimulatedAddress,
        prefixLength: Int,
        to interface: String,
        peer: (any SimulatedAddress)? = nil
    ) throws(SimulationError) {
        let (address, peer) = (address.simulatedAddress, peer?.simulatedAddress)
        let index = try index(of: interface)
        try require(
            (0...address.family.bitWidth).contains(prefixLength), .invalidPrefix,
            "the prefix length \(prefixLength) is out of range: pass 0 to \(address.family.bitWidth)")
        for address in [address, peer].compactMap(\.self) where address.zone != nil {
            throw SimulationError(.invalidAddress, "\(address) names an interface: pass it without the zone")
        }
        if kinds[index] == .onDemandPPP,
            let placeholder = routing.snapshot.addresses.first(where: { $0.isSame(as: placeholder(index)) })
        {
            state.remove(placeholder)
        }
        let request = HostChange.AddressRequest(
            device: interface, address: address, peer: peer, length: prefixLength)
        try make(.address(.add, request))
    }

    /// Removes an address from an interface: `ip addr del 192.0.2.2/24 dev eth0`.
    ///
    /// ```swift
    /// try host.removeAddress("192.0.2.2", from: "eth0")
    /// ```
    ///
    /// With the last IPv4 address of an interface, all IPv4 routes of the interface are removed without a notification.
    /// Secondary addresses are removed with their primary address, as without the setting `promote_secondaries`.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - prefixLength: The length of its prefix; `nil` for any.
    ///   - interface: The interface's name.
    /// - Throws: ``SimulationError`` when the interface does not exist or does not have the address.
    public mutating func removeAddress(
        _ address: some SimulatedAddress,
        prefixLength: Int? = nil,
        from interface: String
    ) throws(SimulationError) {
        let request = HostChange.AddressRequest(
            device: interface, address: address.simulatedAddress, length: prefixLength)
        try make(.address(.delete, request))
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
