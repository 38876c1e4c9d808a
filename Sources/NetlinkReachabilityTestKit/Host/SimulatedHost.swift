// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel

/// The network of a simulated host, as a test changes it inside ``SimulatedNetwork/change(_:)``.
///
/// ```swift
/// try network.change { host in
///     try host.addInterface("eth0")
///     try host.addAddress("192.0.2.2/24", to: "eth0")
///     try host.addRoute("default", via: "192.0.2.1")
/// }
/// ```
///
/// It does what the kernel does: an address brings its routes, an interface that goes down takes its IPv4 routes
/// with it in silence and its IPv6 routes and addresses with notifications, a lost carrier leaves everything where
/// it is. What cannot be done is told by a ``SimulationError``.
///
/// A value: a change that throws leaves the network as it was.
///
/// What it leaves out: neighbours (every gateway answers), nexthop objects, VRFs, the time that the kernel takes
/// for carriers and for IPv6 addresses, which are there at once.
public struct SimulatedHost: Sendable {
    /// What an interface is, beyond what its link shows.
    struct Interface: Hashable {
        var kind: InterfaceKind
        var isUp = false
        var hasCarrier = true
        var isDormant = false
        /// Whether IPv6 has been set up on it since it last came up.
        var isReady = false
        /// Whether it had no carrier before: then the driver says "up" where it said "unknown".
        var hasLostCarrier = false
    }

    var routing = SnapshotRouting(NetworkSnapshot())
    var interfaces: [UInt32: Interface] = [:]
    /// What the change so far reports, in order.
    var notifications: [KernelNotification] = []
    /// Routes that end by themselves, with the time.
    var expiries: [Expiry] = []
    /// The present, for lifetimes.
    var now = ManualClock.Instant(offset: .zero)
    private var nextIndex: UInt32 = 1
    /// Whether it shows a recording, which cannot be changed.
    private(set) var isRecorded = false

    /// What the resolver says to names.
    ///
    /// ```swift
    /// network.change { $0.names["example.com"] = .failing }
    /// ```
    ///
    /// A monitor does not see a name's new answer before it resolves the name again: when the default path changes,
    /// or ``SimulatedNetwork/notifyResolverChange()`` says so.
    public var names = SimulatedNames()
    /// What goes wrong beneath the network.
    public var failures = SimulatedFailures()

    /// A host with nothing but its loopback interface.
    init() {
        var snapshot = NetworkSnapshot()
        snapshot.settings.ipv4IgnoresLinkdown = false
        snapshot.settings.ipv6IgnoresLinkdown = false
        snapshot.settings.ipv6Forwards = false
        for rule in Self.standardRules { snapshot.apply(.rule(rule)) }
        snapshot.dumpEnded(knowsNeighbours: true)
        routing.snapshot = snapshot
        let index = takeIndex()
        interfaces[index] = Interface(kind: .loopback)
        let link = InterfaceKind.loopback.link(index: index, name: "lo", lower: nil)
        routing.snapshot.apply(.link(LinkReport(link)))
        setUp(index)
        insert(InterfaceAddress(interfaceIndex: index, address: .loopbackV4, prefixLength: 8, scope: .host))
        notifications = []
    }

    /// The rules that every host starts with.
    static let standardRules: [Rule] = [
        Rule(family: .v4, priority: 0, action: .lookup(table: Route.localTable)),
        Rule(family: .v4, priority: 32_766, action: .lookup(table: Route.mainTable)),
        Rule(family: .v4, priority: 32_767, action: .lookup(table: Route.defaultTable)),
        Rule(family: .v6, priority: 0, action: .lookup(table: Route.localTable)),
        Rule(family: .v6, priority: 32_766, action: .lookup(table: Route.mainTable)),
    ]

    mutating func takeIndex() -> UInt32 {
        nextIndex += 1
        return nextIndex - 1
    }

    /// Does something, and reports it as the kernel does.
    mutating func apply(_ change: NetworkChange, _ notification: KernelNotification) {
        routing.snapshot.apply(change)
        notifications.append(notification)
    }
}

// MARK: - Reading

extension SimulatedHost {
    /// The interfaces as the kernel shows them, by index.
    public var links: [Link] {
        routing.snapshot.links.values.sorted { $0.index < $1.index }
    }

    /// The addresses of all interfaces, in the order in which they were added.
    public var addresses: [InterfaceAddress] {
        routing.snapshot.addresses
    }

    /// All routes: by table and prefix in no promised order, within a prefix in the kernel's.
    public var routes: [Route] {
        routing.snapshot.routes
    }

    /// The policy rules of both families, each family's in the kernel's order.
    public var rules: [Rule] {
        routing.snapshot.rules
    }

    /// An interface as the kernel shows it; `nil` when there is none of that name.
    public func link(named name: String) -> Link? {
        routing.snapshot.links.values.first { $0.name == name }
    }

    /// The index of an interface that a test names.
    func index(of name: String) throws(SimulationError) -> UInt32 {
        try checkIsChangeable()
        if let link = link(named: name) { return link.index }
        let known = links.map(\.name).joined(separator: ", ")
        throw SimulationError(
            .unknownInterface,
            "there is no interface \"\(name)\": add it with addInterface, or name one of these: \(known)"
        )
    }

    func name(of index: UInt32) -> String {
        routing.snapshot.links[index]?.name ?? "interface \(index)"
    }
}

// MARK: - As a whole

extension SimulatedHost {
    /// Moves the time on.
    mutating func moveOn(to now: ManualClock.Instant) {
        self.now = max(self.now, now)
        routing.snapshot.clock = Int64(self.now.offset / .milliseconds(10))
    }

    /// Shows a network out of a recording.
    mutating func show(_ routing: SnapshotRouting) {
        isRecorded = true
        self.routing = routing
    }

    /// Starts over, with names and failures as they are.
    private mutating func forgetRecording() {
        let (names, failures, now) = (names, failures, now)
        self = SimulatedHost()
        (self.names, self.failures, self.now) = (names, failures, now)
        notifications = [.settings]
    }

    /// Throws when the network is not for a test to change.
    func checkIsChangeable() throws(SimulationError) {
        guard isRecorded else { return }
        throw SimulationError(
            .recordedNetwork,
            "this network plays a recording, which cannot be changed: change names and failures, or apply a "
                + "condition first"
        )
    }

    /// Takes everything away but the loopback interface.
    mutating func clear() {
        if isRecorded { forgetRecording() }
        for link in links where interfaces[link.index]?.kind != .loopback && interfaces[link.index] != nil {
            removeInterface(link.index)
        }
        for address in addresses where !address.address.isLoopback { remove(address) }
        for route in routes where route.origin != 2 { remove(route) }
        for rule in rules where !Self.standardRules.contains(rule) { apply(.removedRule(rule), .rule) }
        for rule in Self.standardRules where !rules.contains(rule) { apply(.rule(rule), .rule) }
        expiries = []
        names.others = .notFound
        names.captive = nil
        names.servers = []
        if let loopback = link(named: "lo"), interfaces[loopback.index]?.isUp == false {
            setUp(loopback.index)
        }
    }
}
