// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The kernel's side effects of interfaces that go up or down, gain or lose a carrier, or are removed.

extension HostState {
    package mutating func setUp(_ index: UInt32) {
        perform([.setUp(index)])
    }

    package mutating func setDown(_ index: UInt32) {
        // Interfaces that follow another one go down before it.
        let order = walk(from: index) { state, index in
            state.snapshot.links.uppers(of: index).filter {
                state.interfaces[$0]?.isUp == true && state.follows($0)
            }
        }
        for index in order { bringDown(index) }
    }

    private mutating func bringDown(_ index: UInt32) {
        interfaces[index]?.isUp = false
        // This removes the routes of both families.
        leaveIPv6(index) { $0.showState(index) }
        forgetNeighbours(on: index)
        let others = snapshot.links.uppers(of: index).filter { !follows($0) }
        perform(others.map(Step.followLower) + [.followPorts(index), .followPeer(index)])
    }

    /// Takes the IPv6 routes and addresses off an interface: `addrconf_ifdown`.
    ///
    /// - Parameters:
    ///   - index: The interface.
    ///   - loseRoutes: Removes its routes.
    mutating func leaveIPv6(_ index: UInt32, _ loseRoutes: (inout Self) -> Void) {
        interfaces[index]?.isReady = false
        if let known = snapshot.addresses(ofInterface: index, family: .v6).generatedLinkLocal {
            interfaces[index]?.linkLocal = known
        }
        let routes = snapshot.destinations(through: index, .v6)
        loseRoutes(&self)
        for route in routes { notifications.append(.route(route)) }
        for address in snapshot.addresses(ofInterface: index, family: .v6) {
            apply(.removedAddress(address), .address(isLoss: true))
        }
    }

    package mutating func setCarrier(_ index: UInt32, _ hasCarrier: Bool) {
        perform([.setCarrier(index, hasCarrier)])
    }

    // MARK: Steps

    /// A step of the side effects of a change of an interface.
    private enum Step {
        case setUp(UInt32)
        case setCarrier(UInt32, Bool)
        /// Gives an interface the carrier of the interface below.
        case followLower(UInt32)
        /// Gives the master of a port the carrier of its ports.
        case followPorts(UInt32)
        /// Gives both ends of a pair a carrier if both are up.
        case followPeer(UInt32)
    }

    /// Performs steps, and those that follow from each before the next one.
    ///
    /// A list instead of recursion, because a recording can contain stacks as deep as it is long. In one change, no
    /// interface goes up or changes its carrier twice, so loops of interfaces end.
    private mutating func perform(_ first: [Step]) {
        var open = Array(first.reversed())
        var done: Set<UInt32> = []
        while let step = open.popLast() { open += perform(step, &done).reversed() }
    }

    /// Performs a step, and returns the steps that follow from it.
    private mutating func perform(_ step: Step, _ done: inout Set<UInt32>) -> [Step] {
        switch step {
        case .setUp(let index):
            guard interfaces[index]?.isUp == false else { return [] }
            return goUp(index)
        case .setCarrier(let index, let hasCarrier):
            guard interfaces[index]?.hasCarrier == !hasCarrier, done.insert(index).inserted else { return [] }
            return changeCarrier(index, hasCarrier)
        case .followLower(let upper):
            guard let lower = snapshot.links[upper]?.lowerHere else { return [] }
            return [.setCarrier(upper, passesCarrier(lower))]
        case .followPorts(let port):
            guard let bridge = snapshot.links[port]?.master, snapshot.links[bridge]?.kind == "bridge" else {
                return []
            }
            let hasCarrier =
                passesCarrier(port) || snapshot.links.ports(of: bridge).contains(where: passesCarrier)
            return [.setCarrier(bridge, hasCarrier)]
        case .followPeer(let index):
            guard let peer = peer(of: index), let end = interfaces[peer], let own = interfaces[index] else {
                return []
            }
            let hasCarrier = own.isUp && end.isUp
            return [.setCarrier(index, hasCarrier), .setCarrier(peer, hasCarrier)]
        }
    }

    private mutating func goUp(_ index: UInt32) -> [Step] {
        interfaces[index]?.isUp = true
        showState(index)
        let addresses = snapshot.addresses(ofInterface: index, family: .v4)
        for address in addresses {
            for route in ownRoutes(of: address) { insert(route) }
        }
        // inetdev_event gives an address to a loopback interface that has none.
        if addresses.isEmpty, snapshot.links[index]?.flags.contains(.loopback) == true {
            insert(
                InterfaceAddress(interfaceIndex: index, address: .loopbackV4, prefixLength: 8, scope: .host))
        }
        for address in snapshot.addresses(ofInterface: index, family: .v6) {
            insert(prefixRoute(of: address))
        }
        becomeReady(index)
        let uppers = snapshot.links.uppers(of: index).map { upper in
            follows(upper) && interfaces[upper]?.isUp == false ? Step.setUp(upper) : .followLower(upper)
        }
        return uppers + [.followPorts(index), .followPeer(index)]
    }

    private mutating func changeCarrier(_ index: UInt32, _ hasCarrier: Bool) -> [Step] {
        interfaces[index]?.hasCarrier = hasCarrier
        if !hasCarrier { interfaces[index]?.hasLostCarrier = true }
        guard interfaces[index]?.isUp == true else { return [] }
        showState(index)
        if !hasCarrier { forgetNeighbours(on: index, keeping: .permanent) }
        becomeReady(index)
        return snapshot.links.uppers(of: index).map(Step.followLower) + [.followPorts(index)]
    }

    /// The interfaces that depend on an interface, without repetitions, each after the interfaces that depend on it.
    private func walk(from index: UInt32, _ next: (HostState, UInt32) -> [UInt32]) -> [UInt32] {
        var order: [UInt32] = []
        var seen: Set<UInt32> = []
        var open = [(index: index, isDone: false)]
        while let (index, isDone) = open.popLast() {
            if isDone {
                order.append(index)
            } else if seen.insert(index).inserted {
                open.append((index, true))
                open += next(self, index).reversed().map { ($0, false) }
            }
        }
        return order
    }

    /// Removes the neighbours on an interface: `neigh_ifdown`, and `neigh_carrier_down`, which keeps permanent ones.
    private mutating func forgetNeighbours(on index: UInt32, keeping kept: NeighbourState = []) {
        for neighbour in (snapshot.neighbours ?? [:]).values
        where neighbour.key.interfaceIndex == index && neighbour.state.isDisjoint(with: kept) {
            routing.snapshot.apply(.removedNeighbour(neighbour.key))
        }
    }

    /// Removes an interface, the interfaces stacked on it, and the other ends of pairs.
    package mutating func removeInterface(_ index: UInt32) {
        var ends = [index]
        let bound = tunnelsThatGo
        while let end = ends.popLast() {
            guard interfaces[end] != nil else { continue }
            for index in walk(from: end, { $0.snapshot.links.uppers(of: $1) + bound[$1, default: []] }) {
                let peer = peer(of: index)
                remove(index)
                if let peer { ends.append(peer) }
            }
        }
    }

    /// The tunnels that are removed with the interface that they are bound to: `vxlan_handle_lowerdev_unregister`.
    private var tunnelsThatGo: [UInt32: [UInt32]] {
        let bound = snapshot.links.values.filter { $0.kind == "vxlan" && ($0.ends?.link ?? 0) != 0 }
        return Dictionary(grouping: bound.map(\.index).sorted()) { snapshot.links[$0]?.ends?.link ?? 0 }
    }

    private mutating func remove(_ index: UInt32) {
        if interfaces[index]?.isUp == true { setDown(index) }
        removeAddresses(of: index)
        for port in snapshot.links.ports(of: index).sorted() { setMaster(port, nil) }
        let master = snapshot.links[index]?.master
        interfaces[index] = nil
        routing.wirelessIndexes.remove(index)
        apply(.removedLink(index: index), .link(isLoss: true))
        if let master { followPorts(ofBridge: master) }
    }

    /// Makes an interface a port of a bridge, or of no bridge.
    mutating func setMaster(_ index: UInt32, _ master: UInt32?) {
        guard var link = snapshot.links[index] else { return }
        let old = link.master
        link.master = master
        link.portKind = master == nil ? "" : "bridge"
        apply(.link(LinkReport(link)), link.notification)
        for bridge in [old, master].compactMap(\.self) { followPorts(ofBridge: bridge) }
    }

    /// Copies the state of an interface to its link.
    package mutating func showState(_ index: UInt32) {
        guard let interface = interfaces[index], var link = snapshot.links[index] else { return }
        link.operationalState = interface.operationalState(isUpper: link.lower != nil)
        link.carrier = interface.hasCarrier
        link.flags.subtract([.up, .running, .lowerUp])
        if interface.isUp {
            link.flags.insert(.up)
            if interface.hasCarrier { link.flags.insert(.lowerUp) }
            if interface.isOperational { link.flags.insert(.running) }
        }
        apply(.link(LinkReport(link)), link.notification)
    }

    /// Whether the interfaces above one get a carrier from it (`netif_stacked_transfer_operstate`): they do from one
    /// that is dormant.
    package func passesCarrier(_ index: UInt32) -> Bool {
        snapshot.links[index]?.flags.isSuperset(of: [.up, .lowerUp]) ?? false
    }

    // MARK: Layers

    /// Whether an interface is set up and down with the one below, and does not only lose its carrier.
    private func follows(_ upper: UInt32) -> Bool { snapshot.links[upper]?.kind == "vlan" }

    /// The other end of a pair, if it is in this namespace.
    private func peer(of index: UInt32) -> UInt32? {
        guard let link = snapshot.links[index], link.isPairEnd, !link.lowerIsForeign else { return nil }
        return link.lower
    }

    private mutating func followPorts(ofBridge bridge: UInt32) {
        guard snapshot.links[bridge]?.kind == "bridge" else { return }
        setCarrier(bridge, snapshot.links.ports(of: bridge).contains(where: passesCarrier))
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
