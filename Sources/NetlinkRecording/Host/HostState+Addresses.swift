// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// The kernel's side effects of addresses, and its IPv6 configuration of interfaces.

extension HostState {
    package mutating func insert(_ address: InterfaceAddress) {
        var address = address
        if address.address.family == .v4, subnetMates(of: address).contains(where: \.isPrimary) {
            address.flags.insert(.secondary)
        }
        apply(.address(address), .address(isLoss: false))
        switch address.address.family {
        case .v4:
            for route in ownRoutes(of: address) { insert(route) }
        case .v6:
            let isUp = interfaces[address.interfaceIndex]?.isUp == true
            if isUp { insert(prefixRoute(of: address)) }
            guard isUsed(address) else { return }
            insert(localRoute(of: address))
            insert(anycastRoute(of: address))
        }
    }

    /// Whether an IPv6 address has a route of its own.
    func isUsed(_ address: InterfaceAddress) -> Bool {
        let interface = interfaces[address.interfaceIndex]
        return isUsedAtOnce(address) || interface?.isUp == true && interface?.isReady == true
    }

    /// Whether an IPv6 address needs no duplicate address detection.
    ///
    /// Such an address has a route of its own even on an interface that is down.
    private func isUsedAtOnce(_ address: InterfaceAddress) -> Bool {
        address.flags.contains(.noDetection)
            || snapshot.links[address.interfaceIndex]?.flags.isDisjoint(with: [.noARP, .loopback]) == false
    }

    /// Removes an address, unless the effect on other addresses is unknown.
    package mutating func checkedRemove(_ own: InterfaceAddress) throws(KernelRefusal) {
        if own.address.family == .v4, own.isPrimary, subnetMates(of: own).contains(where: { !$0.isPrimary }),
            interfaces[own.interfaceIndex]?.promotesSecondaries == nil
        {
            let name = snapshot.links[own.interfaceIndex]?.name ?? ""
            throw .unknown(
                "what becomes of the secondary addresses of \(own.address) depends on "
                    + "net.ipv4.conf.\(name).promote_secondaries, which is not recorded")
        }
        remove(own)
    }

    package mutating func remove(_ address: InterfaceAddress) {
        let mates = address.address.family == .v4 && address.isPrimary ? subnetMates(of: address) : []
        let promoted = interfaces[address.interfaceIndex]?.promotesSecondaries == true ? mates.first : nil
        // Without promote_secondaries, secondary addresses are removed together with their primary address.
        if promoted == nil { for mate in mates where !mate.isPrimary { remove(mate) } }
        // The routes of the remaining addresses get another source.
        if promoted != nil { for mate in mates { for route in allRoutes(of: mate) { remove(route) } } }
        let own = allRoutes(of: address)
        let destinations = Set(own.map(\.destination))
        let sharing = snapshot.addresses(
            ofInterface: address.interfaceIndex, family: address.address.family
        )
        .filter { !$0.isSame(as: address) && $0.canHaveRoute(to: destinations) }
        let stays = Set(sharing.flatMap(allRoutes) + sharing.compactMap(keptRoute))
        for route in own where !stays.contains(route) { remove(route) }
        apply(.removedAddress(address), .address(isLoss: true))
        if var promoted {
            promoted.flags.remove(.secondary)
            apply(.address(promoted), .address(isLoss: false))
            for mate in [promoted] + mates.dropFirst() {
                for route in ownRoutes(of: mate) { insert(route) }
            }
        }
    }

    /// Removes all addresses of an interface, together with their routes.
    mutating func removeAddresses(of index: UInt32) {
        for family in [IPAddress.Family.v4, .v6] {
            for address in snapshot.addresses(ofInterface: index, family: family) {
                for route in allRoutes(of: address) { remove(route) }
                apply(.removedAddress(address), .address(isLoss: true))
            }
        }
    }

    /// The other IPv4 addresses of an interface in the same subnet.
    func subnetMates(of address: InterfaceAddress) -> [InterfaceAddress] {
        snapshot.addresses(ofInterface: address.interfaceIndex, family: .v4).filter {
            $0.prefixLength == address.prefixLength && $0.subnet == address.subnet
                && !$0.isSame(as: address)
        }
    }

    // MARK: IPv6

    /// A placeholder for the link-local address that the kernel derives from the hardware address.
    ///
    /// No table contains the real address.
    package static func madeUpLinkLocal(_ index: UInt32) -> IPAddress {
        IPAddress(v6High: 0xfe80 << 48, low: 0x0000_00ff_fe00_0000 | UInt64(index))
    }

    /// Configures IPv6 on an interface that has just become able to send packets.
    package mutating func becomeReady(_ index: UInt32) {
        guard let interface = interfaces[index], interface.isOperational, !interface.isReady,
            snapshot.links[index]?.settings.ipv6IsOff != true
        else { return }
        interfaces[index]?.isReady = true
        if snapshot.links[index]?.flags.contains(.loopback) == true {
            let address = IPAddress.loopbackV6
            insert(InterfaceAddress(interfaceIndex: index, address: address, prefixLength: 128, scope: .host))
            return
        }
        if interface.hasLinkLocal {
            let address = interface.linkLocal ?? Self.madeUpLinkLocal(index)
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
        for address in snapshot.addresses(ofInterface: index, family: .v6) {
            insert(localRoute(of: address))
            insert(anycastRoute(of: address))
        }
    }
}

extension InterfaceAddress {
    /// Whether one of the kernel's routes for the address can have one of some destinations.
    func canHaveRoute(to destinations: Set<IPPrefix>) -> Bool {
        let whole = address.family == .v4 ? 32 : 128
        let ends = [address, subnet?.address, subnet?.lastAddress, broadcast].compactMap(\.self)
        return subnet.map(destinations.contains) == true
            || ends.contains { IPPrefix($0, length: whole).map(destinations.contains) == true }
    }

    package func isSame(as other: InterfaceAddress) -> Bool {
        AddressBook.Key(self) == AddressBook.Key(other)
    }
}
