// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// The kernel's side effects of interfaces that go up or down, gain or lose a carrier, or are deleted.

extension HostState {
    package mutating func setUp(_ index: UInt32) {
        interfaces[index]?.isUp = true
        showState(index)
        for address in snapshot.addresses(ofInterface: index, family: .v4) {
            for route in ownRoutes(of: address) { insert(route) }
        }
        for address in snapshot.addresses(ofInterface: index, family: .v6) {
            insert(prefixRoute(of: address))
        }
        becomeReady(index)
        for upper in uppers(of: index) {
            if follows(upper) { setUp(upper) } else { followLower(upper) }
        }
        followPorts(of: index)
        followPeer(of: index)
    }

    package mutating func setDown(_ index: UInt32) {
        for upper in uppers(of: index) where interfaces[upper]?.isUp == true && follows(upper) {
            setDown(upper)
        }
        interfaces[index]?.isUp = false
        interfaces[index]?.isReady = false
        if let known = snapshot.addresses(ofInterface: index, family: .v6).generatedLinkLocal {
            interfaces[index]?.linkLocal = known
        }
        let routes = snapshot.routes.filter { route in
            route.destination.family == .v6 && route.nexthops.contains { $0.interfaceIndex == index }
        }
        // Removes the routes of both families.
        showState(index)
        for route in routes { notifications.append(.route(route.destination)) }
        for address in snapshot.addresses(ofInterface: index, family: .v6) {
            apply(.removedAddress(address), .address(isLoss: true))
        }
        forgetNeighbours(on: index)
        for upper in uppers(of: index) where !follows(upper) { followLower(upper) }
        followPorts(of: index)
        followPeer(of: index)
    }

    package mutating func setCarrier(_ index: UInt32, _ hasCarrier: Bool) {
        guard let interface = interfaces[index], interface.hasCarrier != hasCarrier else { return }
        interfaces[index]?.hasCarrier = hasCarrier
        if !hasCarrier { interfaces[index]?.hasLostCarrier = true }
        guard interface.isUp else { return }
        showState(index)
        if !hasCarrier { forgetNeighbours(on: index, keeping: .permanent) }
        becomeReady(index)
        for upper in uppers(of: index) { followLower(upper) }
        followPorts(of: index)
    }

    /// Forgets the neighbours on an interface: `neigh_ifdown`, and `neigh_carrier_down`, which keeps permanent ones.
    private mutating func forgetNeighbours(on index: UInt32, keeping kept: NeighbourState = []) {
        for neighbour in (snapshot.neighbours ?? [:]).values
        where neighbour.key.interfaceIndex == index && neighbour.state.isDisjoint(with: kept) {
            routing.snapshot.apply(.removedNeighbour(neighbour.key))
        }
    }

    /// Removes an interface and those on it.
    ///
    /// - Parameters:
    ///   - index: The interface.
    ///   - below: The interfaces that are being removed: tables of a damaged recording can form a circle.
    package mutating func removeInterface(_ index: UInt32, on below: Set<UInt32> = []) {
        let below = below.union([index])
        for upper in uppers(of: index) where !below.contains(upper) { removeInterface(upper, on: below) }
        let peer = peer(of: index)
        if interfaces[index]?.isUp == true { setDown(index) }
        for address in snapshot.addresses(ofInterface: index, family: .v4) { remove(address) }
        for address in snapshot.addresses(ofInterface: index, family: .v6) { remove(address) }
        for port in ports(of: index) { setMaster(port, nil) }
        let master = snapshot.links[index]?.master
        interfaces[index] = nil
        routing.wirelessIndexes.remove(index)
        apply(.removedLink(index: index), .link(isLoss: true))
        if let master { followPorts(ofBridge: master) }
        if let peer, interfaces[peer] != nil { removeInterface(peer) }
    }

    /// Makes an interface a port of a bridge, or of none.
    mutating func setMaster(_ index: UInt32, _ master: UInt32?) {
        guard var link = snapshot.links[index] else { return }
        let old = link.master
        link.master = master
        link.portKind = master == nil ? "" : "bridge"
        apply(.link(LinkReport(link)), link.notification)
        for bridge in [old, master].compactMap(\.self) { followPorts(ofBridge: bridge) }
    }

    /// Updates the state in the link of an interface.
    package mutating func showState(_ index: UInt32) {
        guard let interface = interfaces[index], var link = snapshot.links[index] else { return }
        link.operationalState = interface.operationalState(isUpper: link.lower != nil)
        link.carrier = interface.hasCarrier
        let isOperational = link.operationalState == .up || link.operationalState == .unknown
        link.flags.subtract([.up, .running, .lowerUp])
        if interface.isUp {
            link.flags.insert(.up)
            if interface.hasCarrier { link.flags.insert(.lowerUp) }
            if isOperational { link.flags.insert(.running) }
        }
        apply(.link(LinkReport(link)), link.notification)
    }

    package func isRunning(_ index: UInt32) -> Bool {
        snapshot.links[index]?.flags.isSuperset(of: [.up, .lowerUp]) ?? false
    }

    // MARK: Layers

    /// The VLANs on an interface.
    private func uppers(of index: UInt32) -> [UInt32] {
        links.filter { $0.lowerHere == index }.map(\.index)
    }

    /// Whether an interface is set up and down with the one below, and does not only lose its carrier.
    private func follows(_ upper: UInt32) -> Bool { snapshot.links[upper]?.kind == "vlan" }

    /// Gives an interface the carrier of the one below.
    private mutating func followLower(_ upper: UInt32) {
        guard let lower = snapshot.links[upper]?.lowerHere else { return }
        setCarrier(upper, isRunning(lower))
    }

    /// The other end of a pair, where it is in this namespace.
    private func peer(of index: UInt32) -> UInt32? {
        guard let link = snapshot.links[index], link.isPairEnd, !link.lowerIsForeign else { return nil }
        return link.lower
    }

    /// Both ends of a pair have a carrier while both are up.
    private mutating func followPeer(of index: UInt32) {
        guard let peer = peer(of: index), let end = interfaces[peer], let own = interfaces[index] else {
            return
        }
        let hasCarrier = own.isUp && end.isUp
        setCarrier(index, hasCarrier)
        setCarrier(peer, hasCarrier)
    }

    private func ports(of bridge: UInt32) -> [UInt32] {
        links.filter { $0.master == bridge }.map(\.index)
    }

    private mutating func followPorts(of port: UInt32) {
        if let bridge = snapshot.links[port]?.master { followPorts(ofBridge: bridge) }
    }

    private mutating func followPorts(ofBridge bridge: UInt32) {
        guard snapshot.links[bridge]?.kind == "bridge" else { return }
        setCarrier(bridge, ports(of: bridge).contains(where: isRunning))
    }
}

extension HostState.Interface {
    fileprivate func operationalState(isUpper: Bool) -> OperationalState {
        guard isUp else { return .down }
        guard hasCarrier else { return isUpper ? .lowerLayerDown : .down }
        if isDormant { return .dormant }
        return reportsState || hasLostCarrier ? .up : .unknown
    }
}

extension Link {
    /// The kernel's notification about it.
    package var notification: KernelNotification {
        .link(isLoss: !flags.isSuperset(of: [.up, .running, .lowerUp]))
    }
}
