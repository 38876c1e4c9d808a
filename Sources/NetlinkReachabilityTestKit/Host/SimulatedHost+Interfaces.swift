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
    /// ```swift
    /// try host.removeInterface("eth0")
    /// ```
    ///
    /// - Parameter name: Its name.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func removeInterface(_ name: String) throws(SimulationError) {
        removeInterface(try index(of: name))
    }

    /// Gives an interface another name.
    ///
    /// ```swift
    /// try host.renameInterface("eth0", to: "lan0")
    /// ```
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
        apply(.link(LinkReport(link)), link.notification)
        // Addresses carry a label with the name.
        for address in routing.snapshot.addresses(ofInterface: index, family: .v4) {
            apply(.address(address), .address(isLoss: false))
        }
    }

    /// Plugs a cable in or out, joins or leaves an access point.
    ///
    /// ```swift
    /// try host.setCarrier("wlan0", false)
    /// ```
    ///
    /// Addresses and routes stay where they are: only the interface reports it. An interface that is down
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
    /// ```swift
    /// try host.setUp("eth0")
    /// ```
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
    /// ```swift
    /// try host.setDown("eth0")
    /// ```
    ///
    /// Its IPv4 routes go in silence. Its IPv6 routes and addresses go too, each with a notification.
    ///
    /// - Parameter name: The interface's name.
    /// - Throws: ``SimulationError`` when there is none of that name.
    public mutating func setDown(_ name: String) throws(SimulationError) {
        let index = try index(of: name)
        if interfaces[index]?.isUp == true { setDown(index) }
    }

    /// Has an interface wait for an external event, such as an authentication, or end the wait.
    ///
    /// ```swift
    /// try host.setDormant("wlan0", true)   // joined, not yet authenticated
    /// ```
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
