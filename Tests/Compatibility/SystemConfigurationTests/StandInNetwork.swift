// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRoute
import RoutingModel
import SystemConfiguration
import SystemSupport

/// A host of one wired interface, 192.0.2.2/24, whose default route and names a test changes: what stands behind
/// the functions in place of the kernel.
final class StandInNetwork: RoutingSource, HostResolver {
    private struct State {
        var hasDefault: Bool
        var fault: RoutingFault?
        var names: [String: HostResolution] = [:]
        var feeds: [StandInFeed] = []
        var questions = 0
        var afterNext: (@Sendable () -> Void)?
        var resolutions = 0
    }

    private let state: Locked<State>

    init(hasDefault: Bool = false) {
        state = Locked(State(hasDefault: hasDefault))
    }

    /// Runs a body in which targets are created on this network.
    func use<Result>(_ body: () throws -> Result) rethrows -> Result {
        try NetworkInUse.$source.withValue(source, operation: body)
    }

    /// A new source each time: each has a monitor of its own.
    private var source: NetworkSource {
        NetworkSource(
            routing: self,
            resolver: self,
            changes: { () throws(RoutingFault) in try self.openFeed() }
        )
    }

    private func openFeed() throws(RoutingFault) -> any ChangeFeed {
        let feed = try StandInFeed()
        state.withLock { $0.feeds.append(feed) }
        return feed
    }

    // MARK: Changes

    /// Plugs the default route in or out and announces it, as the kernel does.
    func setDefault(_ isThere: Bool) {
        let feeds = state.withLock { state in
            state.hasDefault = isThere
            return state.feeds
        }
        for feed in feeds { feed.announce(.route(.allV4)) }
    }

    func setName(_ name: String, _ resolution: HostResolution) {
        state.withLock { $0.names[name] = resolution }
    }

    func fail(_ fault: RoutingFault?) {
        state.withLock { $0.fault = fault }
    }

    /// Has something run once the next question is answered, on the thread that asks.
    func afterNext(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.afterNext = body }
    }

    /// How often the kernel's part was asked.
    var questions: Int { state.withLock { $0.questions } }
    /// How often a name was resolved.
    var resolutions: Int { state.withLock { $0.resolutions } }

    // MARK: Answers

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        RouteLookup(try answer(to: query))
    }

    private func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let (answer, then) = try state.withLock { (state) throws(RoutingFault) in
            state.questions += 1
            if let fault = state.fault { throw fault }
            let answer = Self.route(to: query.destination, hasDefault: state.hasDefault)
            return (answer, state.afterNext.take())
        }
        then?()
        return answer
    }

    private static func route(to destination: IPAddress, hasDefault: Bool) -> RouteAnswer {
        if destination.isLoopback || destination == IPAddress(192, 0, 2, 2) {
            return .route(
                Route(destination: host(destination), type: .local, nexthops: [Nexthop(interfaceIndex: 2)]))
        }
        if let link = IPPrefix(IPAddress(192, 0, 2, 0), length: 24), link.contains(destination) {
            return .route(Route(destination: link, nexthops: [Nexthop(interfaceIndex: 2)]))
        }
        guard hasDefault, destination.family == .v4 else { return .rejected(.noRoute) }
        let gateway = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1))
        return .route(Route(destination: .allV4, nexthops: [gateway]))
    }

    private static func host(_ address: IPAddress) -> IPPrefix {
        IPPrefix(address, length: address.family == .v4 ? 32 : 128) ?? .allV4
    }

    func facts(aboutInterface index: UInt32, detail: InterfaceDetail) throws(RoutingFault) -> InterfaceFacts?
    {
        InterfaceFacts(link: Link(index: index, name: "eth0"))
    }

    func links() throws(RoutingFault) -> [Link] {
        [Link(index: 2, name: "eth0")]
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        state.withLock { state in
            state.resolutions += 1
            return state.names[name] ?? .notFound
        }
    }
}

/// Announcements that a test makes.
private final class StandInFeed: ChangeFeed {
    private let queue = Locked<[KernelNotification]>([])
    private let wakeUp: EventFD
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

    func announce(_ change: KernelNotification) {
        queue.withLock { $0.append(change) }
        wakeUp.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        wakeUp.reset()
        let changes = queue.withLock { queue in
            defer { queue = [] }
            return queue
        }
        for change in changes { body(change) }
        return changes.isEmpty ? .empty : .changes
    }
}
