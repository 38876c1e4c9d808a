// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

extension SimulatedHost {
    /// Adds an interface: up and with a carrier, unless told otherwise.
    ///
    /// ```swift
    /// try host.addInterface("eth0")
    /// try host.addInterface("wlan0", .wifi, hasCarrier: false)
    /// ```
    ///
    /// - Parameters:
    ///   - name: Its name, 1 to 15 bytes without space and slash.
    ///   - kind: What it is.
    ///   - isUp: Whether the administrator has set it up.
    ///   - hasCarrier: Whether the cable is plugged in, the access point joined, the modem connected.
    ///   - bridge: The bridge that it becomes a port of.
    /// - Throws: ``SimulationError`` when the name is taken or none, or a bridge or lower interface is not there.
    public mutating func addInterface(
        _ name: String,
        _ kind: InterfaceKind = .ethernet,
        isUp: Bool = true,
        hasCarrier: Bool = true,
        bridge: String? = nil
    ) throws(SimulationError) {
        try checkNewName(name)
        var lower: UInt32?
        if case .vlan(let name) = kind.value { lower = try index(of: name) }
        let index = takeIndex()
        var link = kind.link(index: index, name: name, lower: lower)
        if let bridge {
            link.master = try self.index(of: bridge)
            link.portKind = "bridge"
        }
        var interface = Interface(kind: kind)
        interface.hasCarrier = hasCarrier
        if let lower { interface.hasCarrier = hasCarrier && isRunning(lower) }
        if kind == .bridge { interface.hasCarrier = false }
        interfaces[index] = interface
        if kind == .wifi { routing.wirelessIndexes.insert(index) }
        apply(.link(LinkReport(link)), .link(isLoss: true))
        if kind == .onDemandPPP { addPlaceholders(index) }
        if isUp { setUp(index) }
    }

    /// Deletes an interface with all that belongs to it: unplugged, or moved to another namespace.
    ///
    /// - Parameter name: Its name.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func removeInterface(_ name: String) throws(SimulationError) {
        removeInterface(try index(of: name))
    }

    /// Gives an interface another name.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - newName: The new one.
    /// - Throws: ``SimulationError`` when there is none of that name, or the new one is taken or none.
    public mutating func renameInterface(_ name: String, to newName: String) throws(SimulationError) {
        let index = try index(of: name)
        try checkNewName(newName)
        guard var link = routing.snapshot.links[index] else { return }
        link.name = newName
        apply(.link(LinkReport(link)), link.announcement)
        // Addresses carry a label with the name.
        for address in routing.snapshot.addresses(ofInterface: index, family: .v4) {
            apply(.address(address), .address(isLoss: false))
        }
    }

    /// Plugs a cable in or out, joins or leaves an access point.
    ///
    /// Addresses and routes stay where they are: only the interface announces it. An interface that is down
    /// says nothing.
    ///
    /// - Parameters:
    ///   - name: The interface's name.
    ///   - hasCarrier: Whether there is a carrier from now on.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func setCarrier(_ name: String, _ hasCarrier: Bool) throws(SimulationError) {
        setCarrier(try index(of: name), hasCarrier)
    }

    /// Sets an interface up: `ip link set eth0 up`.
    ///
    /// The routes to its own subnets come back, routes through gateways do not.
    ///
    /// - Parameter name: The interface's name.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func setUp(_ name: String) throws(SimulationError) {
        let index = try index(of: name)
        if interfaces[index]?.isUp == false { setUp(index) }
    }

    /// Sets an interface down: `ip link set eth0 down`.
    ///
    /// Its IPv4 routes go in silence. Its IPv6 routes and addresses go too, each with an announcement.
    ///
    /// - Parameter name: The interface's name.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func setDown(_ name: String) throws(SimulationError) {
        let index = try index(of: name)
        if interfaces[index]?.isUp == true { setDown(index) }
    }

    /// Has an interface wait for an external event, such as an authentication, or end the wait.
    ///
    /// - Parameters:
    ///   - name: The interface's name.
    ///   - isDormant: Whether it waits from now on.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func setDormant(_ name: String, _ isDormant: Bool) throws(SimulationError) {
        let index = try index(of: name)
        interfaces[index]?.isDormant = isDormant
        showState(index)
        becomeReady(index)
    }

    private func checkNewName(_ name: String) throws(SimulationError) {
        try checkIsChangeable()
        guard (1...15).contains(name.utf8.count), name != ".", name != "..",
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x2f && $0 != 0x3a })
        else {
            throw SimulationError(
                .invalidName,
                "\"\(name)\" is no interface name: give 1 to 15 bytes without space, slash and colon"
            )
        }
        guard link(named: name) == nil else {
            throw SimulationError(
                .interfaceExists,
                "there is an interface \"\(name)\" already: choose another name, or remove it first"
            )
        }
    }
}

// MARK: - What the kernel does

extension SimulatedHost {
    mutating func setUp(_ index: UInt32) {
        interfaces[index]?.isUp = true
        showState(index)
        for address in routing.snapshot.addresses(ofInterface: index, family: .v4) {
            for route in ownRoutes(of: address) { insert(route) }
        }
        for address in routing.snapshot.addresses(ofInterface: index, family: .v6) {
            insert(prefixRoute(of: address))
        }
        becomeReady(index)
        for upper in uppers(of: index) { setUp(upper) }
        followPorts(of: index)
    }

    mutating func setDown(_ index: UInt32) {
        for upper in uppers(of: index) where interfaces[upper]?.isUp == true { setDown(upper) }
        interfaces[index]?.isUp = false
        interfaces[index]?.isReady = false
        let routes = routing.snapshot.routes.filter { route in
            route.destination.family == .v6 && route.nexthops.contains { $0.interfaceIndex == index }
        }
        // This takes the routes of both families.
        showState(index)
        for route in routes { announcements.append(.route(route.destination)) }
        for address in routing.snapshot.addresses(ofInterface: index, family: .v6) {
            apply(.removedAddress(address), .address(isLoss: true))
        }
        followPorts(of: index)
    }

    mutating func setCarrier(_ index: UInt32, _ hasCarrier: Bool) {
        guard let interface = interfaces[index], interface.hasCarrier != hasCarrier else { return }
        interfaces[index]?.hasCarrier = hasCarrier
        if !hasCarrier { interfaces[index]?.hasLostCarrier = true }
        guard interface.isUp else { return }
        showState(index)
        becomeReady(index)
        for upper in uppers(of: index) { setCarrier(upper, hasCarrier) }
        followPorts(of: index)
    }

    mutating func removeInterface(_ index: UInt32) {
        for upper in uppers(of: index) { removeInterface(upper) }
        if interfaces[index]?.isUp == true { setDown(index) }
        for address in routing.snapshot.addresses(ofInterface: index, family: .v4) { remove(address) }
        for address in routing.snapshot.addresses(ofInterface: index, family: .v6) { remove(address) }
        for port in ports(of: index) {
            guard var link = routing.snapshot.links[port] else { continue }
            link.master = nil
            link.portKind = ""
            apply(.link(LinkReport(link)), link.announcement)
        }
        let master = routing.snapshot.links[index]?.master
        interfaces[index] = nil
        routing.wirelessIndexes.remove(index)
        apply(.removedLink(index: index), .link(isLoss: true))
        if let master { followPorts(ofBridge: master) }
    }

    /// Shows the state of an interface in its link.
    private mutating func showState(_ index: UInt32) {
        guard let interface = interfaces[index], var link = routing.snapshot.links[index] else { return }
        link.operationalState = interface.operationalState(isUpper: link.lower != nil)
        link.carrier = interface.hasCarrier
        let isOperational = link.operationalState == .up || link.operationalState == .unknown
        link.flags.subtract([.up, .running, .lowerUp])
        if interface.isUp {
            link.flags.insert(.up)
            if interface.hasCarrier { link.flags.insert(.lowerUp) }
            if isOperational { link.flags.insert(.running) }
        }
        apply(.link(LinkReport(link)), link.announcement)
    }

    func isRunning(_ index: UInt32) -> Bool {
        routing.snapshot.links[index]?.flags.isSuperset(of: [.up, .lowerUp]) ?? false
    }

    // MARK: Layers

    /// The VLANs on an interface.
    private func uppers(of index: UInt32) -> [UInt32] {
        links.filter { $0.lower == index }.map(\.index)
    }

    private func ports(of bridge: UInt32) -> [UInt32] {
        links.filter { $0.master == bridge }.map(\.index)
    }

    private mutating func followPorts(of port: UInt32) {
        if let bridge = routing.snapshot.links[port]?.master { followPorts(ofBridge: bridge) }
    }

    private mutating func followPorts(ofBridge bridge: UInt32) {
        guard interfaces[bridge]?.kind == .bridge else { return }
        let hasCarrier = ports(of: bridge).contains { isRunning($0) }
        setCarrier(bridge, hasCarrier)
    }
}

extension SimulatedHost.Interface {
    fileprivate func operationalState(isUpper: Bool) -> OperationalState {
        guard isUp else { return .down }
        guard hasCarrier else { return isUpper ? .lowerLayerDown : .down }
        if isDormant { return .dormant }
        return kind.tellsState || hasLostCarrier ? .up : .unknown
    }
}

extension Link {
    /// How the kernel's announcement of it reads.
    fileprivate var announcement: Announcement {
        .link(isLoss: !flags.isSuperset(of: [.up, .running, .lowerUp]))
    }
}
