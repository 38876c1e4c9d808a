// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel

/// The interfaces, addresses, routes and rules of a simulated network, changed in ``SimulatedNetwork/change(_:)``.
///
/// ```swift
/// try network.change { host in
///     try host.addInterface("eth0")
///     try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
///     try host.addRoute(.default(via: "192.0.2.1"))
/// }
/// ```
///
/// Changes have the side effects of the kernel. An address adds its routes. An interface that goes down removes its
/// IPv4 routes without notifications, and its IPv6 routes and addresses with them. A lost carrier removes nothing.
/// Impossible changes throw a ``SimulationError``.
///
/// The host is a value: a change that throws leaves the network unchanged.
///
/// Nexthop objects and VRFs are not simulated. Neighbours are not simulated either: routes use every gateway. Carriers
/// and IPv6 addresses change at once, without the time that the kernel takes.
public struct SimulatedHost: Sendable {
    /// The tables, which change with the kernel's side effects.
    var state = HostState()
    /// The kinds of the interfaces by index.
    var kinds: [UInt32: InterfaceKind] = [:]
    /// The routes with a lifetime.
    var expiries: [Expiry] = []
    /// The current time, for lifetimes.
    var now = ManualClock.Instant(offset: .zero)
    var nextIndex: UInt32 = 2
    /// The TCP connections.
    var conversations: [SimulatedConversation] = []
    /// See ``silence``.
    var silent: SimulatedSilence?
    /// The start of the present silence and the end of the last silence, in milliseconds of the clock.
    var silentSince: Int?
    var answeredAgain: Int?
    /// Whether the host shows a recording, which tests cannot change.
    private(set) var isRecorded = false

    /// The answers of the resolver.
    ///
    /// ```swift
    /// network.change { $0.names["example.com"] = .failing }
    /// ```
    ///
    /// A monitor sees a new answer when it resolves the name again: after a change of the default path, or after
    /// ``SimulatedNetwork/notifyResolverChange()``.
    public var names = SimulatedNames()
    /// The failures of the kernel.
    public var failures = SimulatedFailures()

    /// Creates a host with only its loopback interface.
    init() {}

    var routing: SnapshotRouting { state.routing }
}

// MARK: - Reading

extension SimulatedHost {
    /// The interfaces, in the order in which they were added.
    public var interfaces: [SimulatedInterface] {
        let addresses = Dictionary(grouping: routing.snapshot.addresses, by: \.interfaceIndex)
        return state.links.map { link in
            SimulatedInterface(
                name: link.name, isUp: link.flags.contains(.up), isRunning: link.flags.contains(.running),
                addresses: addresses[link.index, default: []].map(\.address))
        }
    }

    /// The routes of all tables except the local table: the routes of a prefix in the kernel's order, prefixes in no
    /// particular order.
    public var routes: [SimulatedRoute] {
        let names = routing.snapshot.links.byIndex.mapValues(\.name)
        return routing.snapshot.routes.compactMap { SimulatedRoute($0, names: names) }
    }

    func link(named name: String) -> Link? {
        routing.snapshot.links.values.first { $0.name == name }
    }

    /// Returns the index of an interface that a test names.
    func index(of name: String) throws(SimulationError) -> UInt32 {
        try checkIsChangeable()
        if let link = link(named: name) { return link.index }
        let known = interfaces.map(\.name).joined(separator: ", ")
        throw SimulationError(
            .unknownInterface,
            "\(Link.absence(ofName: name)): add it with addInterface, or pass one of these: \(known)"
        )
    }
}

// MARK: - As a whole

extension SimulatedHost {
    /// Advances the time.
    mutating func moveOn(to now: ManualClock.Instant) {
        self.now = max(self.now, now)
        state.routing.snapshot.clock = Int64(self.now.offset / .milliseconds(10))
    }

    /// Shows the network of a recording.
    mutating func show(_ routing: SnapshotRouting) {
        isRecorded = true
        state.routing = routing
    }

    /// Throws when a recording plays.
    func checkIsChangeable() throws(SimulationError) {
        guard isRecorded else { return }
        throw SimulationError(
            .recordedNetwork,
            "this network plays a recording and cannot be changed: change only names and failures, or apply a "
                + "condition first"
        )
    }

    /// Removes everything except the loopback interface, names and failures; ends a recording.
    mutating func clear() {
        if isRecorded {
            let (names, failures, now) = (names, failures, now)
            self = SimulatedHost()
            (self.names, self.failures, self.now) = (names, failures, now)
            state.notifications = [.settings]
        }
        for link in state.links where kinds[link.index] != nil && state.interfaces[link.index] != nil {
            state.removeInterface(link.index)
        }
        for address in routing.snapshot.addresses where !address.address.isLoopback { state.remove(address) }
        for route in routing.snapshot.routes where route.origin != Route.kernelOrigin { state.remove(route) }
        let rules = routing.snapshot.rules
        for rule in rules where !Rule.standard.contains(rule) { state.apply(.removedRule(rule), .rule) }
        for rule in Rule.standard where !rules.contains(rule) { state.apply(.rule(rule), .rule) }
        expiries = []
        names.others = .notFound
        names.captive = nil
        names.servers = []
        if let loopback = link(named: "lo"), state.interfaces[loopback.index]?.isUp == false {
            state.setUp(loopback.index)
        }
    }
}
