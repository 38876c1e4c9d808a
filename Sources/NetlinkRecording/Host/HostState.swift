// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A network whose changes have the side effects that they have in the kernel.
///
/// ```
/// var host = HostState(routing)
/// host.setDown(index)
/// let answer = try host.routing.snapshot.answer(to: query)
/// ```
///
/// A ``NetworkSnapshot`` applies kernel messages, and derives the changes that the kernel makes without a message.
/// This type does what the kernel does before it sends those messages: an address adds its routes, an interface that
/// goes down loses its IPv6 addresses, a bridge follows its ports.
///
/// It is a value. Changes that take time in the kernel, such as carriers and duplicate address detection, happen at
/// once.
package struct HostState: Sendable {
    /// The state of an interface that its ``Link`` does not show.
    package struct Interface: Hashable, Sendable {
        package var isUp = false
        package var hasCarrier = true
        package var isDormant = false
        /// Whether IPv6 was configured since the interface came up.
        package var isReady = false
        /// Whether the interface ever lost its carrier.
        ///
        /// Its state is then "up" instead of "unknown".
        package var hasLostCarrier = false
        /// Whether the driver reports the state "up" instead of "unknown".
        package var reportsState = true
        /// Whether the kernel assigns an IPv6 link-local address to the interface.
        package var hasLinkLocal = true
        /// Whether a secondary address replaces a removed primary address (`promote_secondaries`); `nil` if it is not
        /// known.
        package var promotesSecondaries: Bool?
        /// The previous link-local address, which the interface gets again.
        var linkLocal: IPAddress?

        /// Creates the state of an interface that is down.
        package init() {}

        /// Whether it is operational, which the operational states "up" and "unknown" show.
        var isOperational: Bool { isUp && hasCarrier && !isDormant }
    }

    /// The tables of the network.
    package var routing: SnapshotRouting
    /// The interfaces by index.
    package var interfaces: [UInt32: Interface] = [:]
    /// The notifications of the changes so far, in order.
    package var notifications: [KernelNotification] = []

    var snapshot: NetworkSnapshot { routing.snapshot }

    /// A host with only its loopback interface.
    package init() {
        routing = SnapshotRouting(NetworkSnapshot())
        routing.snapshot.settings = .initial
        for rule in Rule.standard { routing.snapshot.apply(.rule(rule)) }
        routing.snapshot.dumpEnded(knowsNeighbours: true)
        var loopback = Interface()
        (loopback.reportsState, loopback.hasLinkLocal) = (false, false)
        loopback.promotesSecondaries = false
        let link = Link(
            index: 1, name: "lo", hardwareType: .loopback, flags: .loopback, operationalState: .down,
            carrier: false, settings: .initial)
        add(link, loopback)
        setUp(1)
        notifications = []
    }

    /// Creates the host that a snapshot describes.
    package init(_ routing: SnapshotRouting) {
        self.routing = routing
        for link in routing.snapshot.links.values { interfaces[link.index] = state(of: link) }
    }

    /// The state that the kernel would have for an interface of a snapshot.
    private func state(of link: Link) -> Interface {
        var state = Interface()
        let addresses = snapshot.addresses(ofInterface: link.index, family: .v6)
        state.isUp = link.flags.contains(.up)
        state.hasCarrier = link.carrier ?? link.flags.contains(.lowerUp)
        state.isDormant = link.operationalState == .dormant
        state.reportsState = link.reportsState
        if state.isUp, state.hasCarrier { state.reportsState = link.operationalState != .unknown }
        // An interface stays ready without a carrier, also if its addresses are gone. An address that was given to it
        // before it was ready has the route as well.
        state.isReady =
            state.isUp && (addresses.isEmpty ? hasMulticastRoute(link.index) : state.isOperational)
        state.linkLocal = addresses.generatedLinkLocal
        state.hasLinkLocal = state.linkLocal != nil || !state.isReady && !link.flags.contains(.loopback)
        return state
    }

    private func hasMulticastRoute(_ index: UInt32) -> Bool {
        multicastRoute(index).map { route in
            snapshot.routes(to: route.destination, table: route.table).contains {
                $0.nexthops.contains { $0.interfaceIndex == index }
            }
        } ?? false
    }

    /// Applies a change, and adds the notification that the kernel would send.
    package mutating func apply(_ change: NetworkChange, _ notification: KernelNotification) {
        routing.snapshot.apply(change)
        notifications.append(notification)
    }

    /// The interfaces, ordered by index.
    package var links: [Link] {
        snapshot.links.values.sorted { $0.index < $1.index }
    }

    /// Adds an interface that is down.
    package mutating func add(_ link: Link, _ state: Interface) {
        interfaces[link.index] = state
        apply(.link(LinkReport(link)), .link(isLoss: true))
    }
}

extension [InterfaceAddress] {
    /// The link-local address that the kernel derived from the hardware address; otherwise any link-local address.
    var generatedLinkLocal: IPAddress? {
        let local = map(\.address).filter { $0.family == .v6 && $0.isLinkLocal }
        return local.first { $0.low >> 24 & 0xffff == 0xfffe } ?? local.first
    }
}
