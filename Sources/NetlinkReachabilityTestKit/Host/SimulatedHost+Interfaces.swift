// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel

extension SimulatedHost {
    /// Adds an interface, by default up and with a carrier.
    ///
    /// ```swift
    /// try host.addInterface("eth0")
    /// try host.addInterface("wlan0", .wifi, hasCarrier: false)
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name, 1 to 15 bytes without space, slash and colon.
    ///   - kind: The kind.
    ///   - isUp: Whether the interface is administratively up.
    ///   - hasCarrier: Whether the interface has a carrier: a plugged cable, an access point, a connected modem.
    ///   - bridge: The bridge of which the interface becomes a port; `nil` for none.
    /// - Throws: ``SimulationError`` when the name is taken or invalid, or the bridge or lower interface does not
    ///   exist.
    public mutating func addInterface(
        _ name: String,
        _ kind: InterfaceKind = .ethernet,
        isUp: Bool = true,
        hasCarrier: Bool = true,
        bridge: String? = nil
    ) throws(SimulationError) {
        try checkNewName(name)
        let lower = try kind.lower.map(index(of:))
        let index = nextIndex
        nextIndex += 1
        var link = kind.link(index: index, name: name, lower: lower)
        if let bridge {
            link.master = try self.index(of: bridge)
            link.portKind = "bridge"
        }
        var interface = HostState.Interface()
        (interface.reportsState, interface.hasLinkLocal) = (link.reportsState, kind.hasLinkLocal)
        interface.promotesSecondaries = false
        interface.hasCarrier = hasCarrier && kind != .bridge && lower.map(state.passesCarrier) ?? true
        kinds[index] = kind
        if kind == .wifi { state.routing.wirelessIndexes.insert(index) }
        state.add(link, interface)
        if kind == .onDemandPPP { state.insert(placeholder(index)) }
        if isUp { state.setUp(index) }
    }

    /// Deletes an interface with its addresses and routes, as if unplugged.
    ///
    /// ```swift
    /// try host.removeInterface("eth0")
    /// ```
    ///
    /// - Parameter name: The name.
    /// - Throws: ``SimulationError`` when no interface has that name.
    public mutating func removeInterface(_ name: String) throws(SimulationError) {
        state.removeInterface(try index(of: name))
    }

    /// Renames an interface.
    ///
    /// ```swift
    /// try host.renameInterface("eth0", to: "lan0")
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - newName: The new name.
    /// - Throws: ``SimulationError`` when no interface has that name, or the new name is taken or invalid.
    public mutating func renameInterface(_ name: String, to newName: String) throws(SimulationError) {
        let index = try index(of: name)
        try checkNewName(newName)
        guard var link = routing.snapshot.links[index] else { return }
        link.name = newName
        state.apply(.link(LinkReport(link)), link.notification)
        // IPv4 addresses have the interface name as their label.
        for address in routing.snapshot.addresses(ofInterface: index, family: .v4) {
            state.apply(.address(address), .address(isLoss: false))
        }
    }

    /// Sets the carrier of an interface, as when a cable is plugged or an access point lost.
    ///
    /// ```swift
    /// try host.setCarrier("wlan0", isPresent: false)
    /// ```
    ///
    /// Addresses and routes stay. The kernel notifies of the link, unless the interface is down.
    ///
    /// - Parameters:
    ///   - name: The interface's name.
    ///   - isPresent: Whether the interface has a carrier from now on.
    /// - Throws: ``SimulationError`` when no interface has that name.
    public mutating func setCarrier(_ name: String, isPresent: Bool) throws(SimulationError) {
        try make(.setCarrier(name, isPresent))
    }

    /// Sets an interface up: `ip link set eth0 up`.
    ///
    /// ```swift
    /// try host.setUp("eth0")
    /// ```
    ///
    /// The routes to its subnets are restored, routes through gateways are not.
    ///
    /// - Parameter name: The interface's name.
    /// - Throws: ``SimulationError`` when no interface has that name, or the lower interface of a VLAN is down.
    public mutating func setUp(_ name: String) throws(SimulationError) {
        try make(.setUp(name))
    }

    /// Sets an interface down: `ip link set eth0 down`.
    ///
    /// ```swift
    /// try host.setDown("eth0")
    /// ```
    ///
    /// The IPv4 routes of the interface are removed without notifications, its IPv6 routes and addresses with them.
    ///
    /// - Parameter name: The interface's name.
    /// - Throws: ``SimulationError`` when no interface has that name.
    public mutating func setDown(_ name: String) throws(SimulationError) {
        try make(.setDown(name))
    }

    /// Sets whether an interface waits for an external event such as an authentication (operational state dormant).
    ///
    /// ```swift
    /// try host.setDormant("wlan0", isDormant: true)   // joined, not yet authenticated
    /// ```
    ///
    /// - Parameters:
    ///   - name: The interface's name.
    ///   - isDormant: Whether the interface waits from now on.
    /// - Throws: ``SimulationError`` when no interface has that name.
    public mutating func setDormant(_ name: String, isDormant: Bool) throws(SimulationError) {
        let index = try index(of: name)
        state.interfaces[index]?.isDormant = isDormant
        state.showState(index)
        state.becomeReady(index)
    }

    private func checkNewName(_ name: String) throws(SimulationError) {
        try checkIsChangeable()
        try require(
            (1...15).contains(name.utf8.count) && name != "." && name != ".."
                && name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x2f && $0 != 0x3a }), .invalidName,
            "\"\(name)\" is not an interface name: pass 1 to 15 bytes without space, slash and colon")
        try require(
            link(named: name) == nil, .interfaceExists,
            "an interface \"\(name)\" exists: choose another name, or remove it first")
    }
}

// MARK: - Interfaces as tests read them

/// An interface of a simulated host, as a test reads it.
///
/// ```swift
/// #expect(network.host.interfaces.filter(\.isRunning).map(\.name) == ["lo", "eth0"])
/// ```
public struct SimulatedInterface: Hashable, Sendable {
    /// The name.
    public let name: String
    /// Whether the interface is administratively up (`IFF_UP`).
    public let isUp: Bool
    /// Whether the interface can send: is up, has a carrier and does not wait for an external event (`IFF_RUNNING`).
    public let isRunning: Bool
    /// The addresses, in the order in which they were added.
    public let addresses: [IPAddress]
}
