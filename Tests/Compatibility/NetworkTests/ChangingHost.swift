// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRoute
import RoutingModel
import SystemSupport

/// A host with two interfaces, `eth0` (2) and `wwan0` (3), whose routes a test changes.
final class ChangingHost: Sendable {
    private let routing = ChangingRouting()
    private let feeds: Locked<[Announcements]>
    let source: NetworkSource

    init() {
        let feeds = Locked<[Announcements]>([])
        self.feeds = feeds
        source = NetworkSource(
            routing: routing,
            resolver: NoResolver(),
            nameservers: { [IPAddress(198, 51, 100, 53)] },
            changes: { () throws(RoutingFault) in
                let feed = try Announcements()
                feeds.withLock { $0.append(feed) }
                return feed
            }
        )
    }

    /// Sets the default route of a family, through the gateway on an interface.
    func setDefault(_ interface: UInt32, via gateway: IPAddress) {
        announce(.route(route(interface, gateway), .last))
    }

    /// Removes it.
    func removeDefault(_ interface: UInt32, via gateway: IPAddress) {
        announce(.removedRoute(route(interface, gateway)))
    }

    private func route(_ interface: UInt32, _ gateway: IPAddress) -> Route {
        let leg = Nexthop(interfaceIndex: interface, gateway: gateway)
        return Route(destination: gateway.family == .v4 ? .allV4 : .allV6, nexthops: [leg])
    }

    private func announce(_ change: NetworkChange) {
        routing.state.withLock { $0.snapshot.apply(change) }
        feeds.withLock { $0.last }?.announce()
    }
}

private final class ChangingRouting: RoutingSource {
    let state: Locked<SnapshotRouting>

    init() {
        var snapshot = NetworkSnapshot()
        snapshot.apply(.link(LinkReport(Link(index: 2, name: "eth0", ipv6Forwards: false))))
        var modem = Link(index: 3, name: "wwan0", hardwareType: .none, kind: "wwan", ipv6Forwards: false)
        modem.flags.insert(.pointToPoint)
        snapshot.apply(.link(LinkReport(modem)))
        for family in IPAddress.Family.allCases {
            let rule = Rule(family: family, priority: 32_766, action: .lookup(table: Route.mainTable))
            snapshot.apply(.rule(rule))
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        state = Locked(SnapshotRouting(snapshot))
    }

    private var now: SnapshotRouting { state.withLock { $0 } }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        try now.lookUp(query, detail: detail)
    }

    func facts(aboutInterface index: UInt32, detail: InterfaceDetail) throws(RoutingFault) -> InterfaceFacts?
    {
        try now.facts(aboutInterface: index, detail: detail)
    }

    func links() throws(RoutingFault) -> [Link] {
        try now.links()
    }
}

/// Says that a rule has changed, whatever it was.
private final class Announcements: ChangeFeed {
    private let wakeUp: EventFD
    private let isDue = Locked(false)
    let refusedGroups = 0
    let counters = FeedCounters()

    init() throws(RoutingFault) {
        do {
            wakeUp = try EventFD()
        } catch {
            throw RoutingFault(error)
        }
    }

    var descriptor: Int32 { wakeUp.descriptor }

    func announce() {
        isDue.withLock { $0 = true }
        wakeUp.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        wakeUp.reset()
        let wasDue = isDue.withLock { isDue in
            defer { isDue = false }
            return isDue
        }
        guard wasDue else { return .empty }
        body(.rule)
        return .changes
    }
}

private struct NoResolver: HostResolver {
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        .notFound
    }
}
