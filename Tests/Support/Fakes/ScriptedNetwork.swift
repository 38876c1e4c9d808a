// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
package import NetlinkReachabilityTestKit
package import NetlinkRecording
package import RoutingModel
internal import SystemSupport

/// A host whose tables, notifications, names and time a test controls separately.
///
/// Unlike in a `SimulatedNetwork`, nothing has side effects: a test can change a route without a notification, or send
/// a notification without a change.
package final class ScriptedNetwork: Sendable {
    /// The tables: initially `lo` (1) and `eth0` (2) with an address of each family, the standard rules and no routes.
    package let routing = ScriptedRouting(tables: .twoInterfaces)
    package let resolver = ScriptedResolver()
    package let clock = ManualClock()
    /// A source whose monitor runs on ``clock`` or on the system's clock.
    package let source: NetworkSource
    private let feeds: SimulatedFeeds
    private let nameservers: Locked<[IPAddress]?>

    package init(resolverFiles: [String] = [], refusedGroups: Int = 0, usesSystemClock: Bool = false) {
        let (feeds, nameservers) = (SimulatedFeeds(), Locked<[IPAddress]?>([IPAddress(192, 0, 2, 53)]))
        self.feeds = feeds
        self.nameservers = nameservers
        source = NetworkSource(
            routing: routing,
            resolver: resolver,
            clock: usesSystemClock ? nil : ManualMonitorClock(clock),
            resolverFiles: resolverFiles,
            nameservers: { nameservers.withLock { $0 } },
            changes: { () throws(ReachabilityError) in try feeds.open(refusedGroups: refusedGroups) }
        )
    }

    /// Makes another source with the same tables and its own monitor, on the system's clock.
    package func makeSource() -> NetworkSource {
        NetworkSource(
            routing: routing,
            resolver: resolver,
            changes: { [feeds] () throws(ReachabilityError) in try feeds.open() }
        )
    }

    /// The number of monitors started so far.
    package var starts: Int { feeds.openedCount }

    /// Makes a handle on ``source``.
    package func handle(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1))
    ) throws -> NetworkReachability {
        NetworkReachability(target: target, source: source)
    }

    /// Waits until the monitor has nothing left to do at this instant.
    package func settle() async {
        await source.monitor.settle()
    }

    // MARK: Notifications

    /// Sends notifications without changing anything.
    package func notify(_ notifications: KernelNotification...) {
        feeds.notify(notifications)
    }

    /// Drops the queued notifications and reports the loss.
    package func overrun() {
        feeds.overrun()
    }

    /// Makes every read of notifications fail from now on.
    package func breakFeed() {
        feeds.breakDown()
    }

    // MARK: Changes

    /// Changes the tables and notifies, as the kernel does.
    package func apply(_ change: NetworkChange) {
        routing.change { $0.snapshot.apply(change) }
        switch change {
        case .route(let route, _), .removedRoute(let route): notify(.route(route.destination))
        case .rule, .removedRule: notify(.rule)
        case .link(let report): notify(.link(isLoss: !report.link.flags.contains(.lowerUp)))
        default: notify(.link(isLoss: true))
        }
    }

    /// Adds or changes an Ethernet interface with a link-local address.
    package func wire(_ index: UInt32, _ name: String, change: (inout Link) -> Void = { _ in }) {
        let own = IPAddress(v6High: 0xfe80 << 48, low: UInt64(index) << 8)
        let address = InterfaceAddress(interfaceIndex: index, address: own, prefixLength: 64, scope: .link)
        routing.change { $0.snapshot.apply(.address(address)) }
        var link = Link.wired(index, name)
        change(&link)
        apply(.link(LinkReport(link)))
    }

    /// Adds a point-to-point interface.
    package func tunnel(_ index: UInt32, _ name: String, kind: String = "wireguard") {
        wire(index, name) { link in
            (link.kind, link.hardwareType) = (kind, .none)
            link.flags.insert(.pointToPoint)
        }
    }

    /// Adds or removes a route through `eth0` without a gateway, and notifies.
    package func setRoute(_ isPresent: Bool, _ prefix: IPPrefix = .documentation) {
        apply(isPresent ? .route(.onLink(prefix), .last) : .removedRoute(.onLink(prefix)))
    }

    /// Adds a default route.
    package func setDefault(_ route: Route) {
        apply(.route(route, .last))
    }

    /// Removes a default route.
    package func removeDefault(_ route: Route) {
        apply(.removedRoute(route))
    }

    /// Sets the configured name servers; `nil` for unknown ones.
    package func setNameservers(_ addresses: [IPAddress]?) {
        nameservers.withLock { $0 = addresses }
    }
}

extension ScriptedRouting {
    /// Adds or removes a route through `eth0` without a gateway or a notification.
    package func setRoute(_ prefix: IPPrefix, _ isPresent: Bool, expires: Int32? = nil) {
        let route = Route.onLink(prefix, expires: expires)
        change { $0.snapshot.apply(isPresent ? .route(route, .last) : .removedRoute(route)) }
    }
}

extension SnapshotRouting {
    /// `lo` (1) and `eth0` (2), both up, with the standard rules and no routes.
    package static var twoInterfaces: SnapshotRouting {
        var snapshot = NetworkSnapshot()
        let loopback: LinkFlags = [.up, .running, .lowerUp, .loopback]
        let lo = Link(index: 1, name: "lo", hardwareType: .loopback, flags: loopback)
        snapshot.apply(.link(LinkReport(lo)))
        snapshot.apply(.link(LinkReport(.wired(2, "eth0"))))
        for own in [IPAddress(192, 0, 2, 2), IPAddress(v6High: 0x2001_0db8 << 32, low: 2)] {
            let length: UInt8 = own.family == .v4 ? 24 : 64
            snapshot.apply(.address(InterfaceAddress(interfaceIndex: 2, address: own, prefixLength: length)))
        }
        for family in IPAddress.Family.allCases {
            for (priority, table) in [0: Route.localTable, 32_766: Route.mainTable] as [UInt32: UInt32] {
                snapshot.apply(.rule(Rule(family: family, priority: priority, action: .lookup(table: table))))
            }
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        (snapshot.settings.ipv4IgnoresLinkdown, snapshot.settings.ipv6IgnoresLinkdown) = (false, false)
        return SnapshotRouting(snapshot)
    }
}

extension Link {
    fileprivate static func wired(_ index: UInt32, _ name: String) -> Link {
        Link(index: index, name: name, settings: .initial)
    }
}

extension Route {
    /// A route through `eth0` without a gateway.
    package static func onLink(_ prefix: IPPrefix, expires: Int32? = nil) -> Route {
        Route(destination: prefix, nexthops: [Nexthop(interfaceIndex: 2)], expires: expires)
    }
}

extension IPPrefix {
    /// 192.0.2.0/24.
    package static let documentation = IPPrefix(IPAddress(192, 0, 2, 0), length: 24) ?? .allV4
}
