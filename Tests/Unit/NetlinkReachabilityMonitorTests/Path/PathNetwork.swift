// SPDX-License-Identifier: Apache-2.0

import NetlinkRoute
import RoutingModel
import SystemSupport

@testable import NetlinkReachability

/// A host whose interfaces and routes a test changes, each change announced as the kernel does.
final class PathNetwork: Sendable {
    let routing = ChangingRouting()
    let clock = ManualClock()
    private let nameservers = Locked<[IPAddress]?>([IPAddress(192, 0, 2, 53)])
    let source: NetworkSource
    private let feeds: Locked<[ScriptedFeed]>

    init(resolverFiles: [String] = []) {
        let feeds = Locked<[ScriptedFeed]>([])
        self.feeds = feeds
        source = NetworkSource(
            routing: routing,
            resolver: ScriptedResolver(),
            clock: clock,
            resolverFiles: resolverFiles,
            nameservers: { [nameservers] in nameservers.withLock { $0 } },
            changes: { () throws(RoutingFault) in
                let feed = try ScriptedFeed(refusedGroups: 0)
                feeds.withLock { $0.append(feed) }
                return feed
            }
        )
    }

    /// How often a monitor was started.
    var starts: Int { feeds.withLock { $0.count } }

    /// What announces changes; `nil` before a monitor runs.
    var feed: ScriptedFeed? { feeds.withLock { $0.last } }

    /// Waits until the monitor has nothing more to do for now.
    func settle() async {
        await source.monitor.settle()
    }

    /// Finds the path once.
    func path(_ restriction: PathRestriction = .none) throws -> NetworkPath {
        try PathFinder(source: source.facts, restriction: restriction).find().path
    }

    // MARK: Changes

    func apply(_ change: NetworkChange) {
        routing.change { $0.snapshot.apply(change) }
        switch change {
        case .route(let route, _), .removedRoute(let route): feed?.announce(.route(route.destination))
        case .rule, .removedRule: feed?.announce(.rule)
        case .link(let report): feed?.announce(.link(isLoss: !report.link.flags.contains(.lowerUp)))
        default: feed?.announce(.link(isLoss: true))
        }
    }

    func wire(_ index: UInt32, _ name: String, change: (inout Link) -> Void = { _ in }) {
        var link = Link(index: index, name: name, ipv6Forwards: false)
        (link.ipv4IgnoresLinkdown, link.ipv6IgnoresLinkdown) = (false, false)
        change(&link)
        apply(.link(LinkReport(link)))
    }

    /// Makes an interface that dials up or is a tunnel.
    func tunnel(_ index: UInt32, _ name: String, kind: String = "wireguard") {
        wire(index, name) { link in
            (link.kind, link.hardwareType) = (kind, .none)
            link.flags.insert(.pointToPoint)
        }
    }

    func setNameservers(_ addresses: [IPAddress]?) {
        nameservers.withLock { $0 = addresses }
    }

    func setDefault(_ route: Route) {
        apply(.route(route, .last))
    }

    func removeDefault(_ route: Route) {
        apply(.removedRoute(route))
    }
}

/// Answers from a snapshot that changes.
final class ChangingRouting: RoutingSource {
    private let state: Locked<SnapshotRouting>
    private let fault = Locked<RoutingFault?>(nil)
    private let asked = Locked(0)

    init() {
        var snapshot = NetworkSnapshot()
        let loopback: LinkFlags = [.up, .running, .lowerUp, .loopback]
        let lo = Link(index: 1, name: "lo", hardwareType: .loopback, flags: loopback)
        snapshot.apply(.link(LinkReport(lo)))
        for family in IPAddress.Family.allCases {
            let tables: [(UInt32, UInt32)] = [(0, Route.localTable), (32_766, Route.mainTable)]
            for (priority, table) in tables {
                snapshot.apply(.rule(Rule(family: family, priority: priority, action: .lookup(table: table))))
            }
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        (snapshot.settings.ipv4IgnoresLinkdown, snapshot.settings.ipv6IgnoresLinkdown) = (false, false)
        state = Locked(SnapshotRouting(snapshot))
    }

    func change(_ body: (inout SnapshotRouting) -> Void) {
        state.withLock { body(&$0) }
    }

    /// Makes every question fail, or none.
    func fail(_ fault: RoutingFault?) {
        self.fault.withLock { $0 = fault }
    }

    /// How many questions there were since the last call.
    func takeCount() -> Int {
        asked.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    private func now() throws(RoutingFault) -> SnapshotRouting {
        asked.withLock { $0 += 1 }
        if let fault = fault.withLock({ $0 }) { throw fault }
        return state.withLock { $0 }
    }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        try now().lookUp(query, detail: detail)
    }

    func facts(aboutInterface index: UInt32, detail: InterfaceDetail) throws(RoutingFault) -> InterfaceFacts?
    {
        try now().facts(aboutInterface: index, detail: detail)
    }

    func links() throws(RoutingFault) -> [Link] {
        try now().links()
    }
}

extension Route {
    /// A default route through one interface, with a gateway or without.
    static func defaultRoute(
        _ interface: UInt32,
        via gateway: String? = nil,
        metric: UInt32 = 0,
        family: IPAddress.Family = .v4
    ) -> Route {
        let leg = Nexthop(interfaceIndex: interface, gateway: gateway.flatMap { IPAddress($0) })
        return Route(destination: family == .v4 ? .allV4 : .allV6, priority: metric, nexthops: [leg])
    }
}

extension NetworkPath {
    /// The names of the available interfaces.
    var names: [String] { availableInterfaces.map(\.name) }
    /// The gateways' texts.
    var gatewayTexts: [String] { gateways.map(\.description) }
}
