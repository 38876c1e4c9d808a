// SPDX-License-Identifier: Apache-2.0

import NetlinkRoute
import RoutingModel
import SystemSupport

@testable import NetlinkReachability

/// A network of one interface whose routes and announcements a test writes.
final class ScriptedNetwork: Sendable {
    let routing = ScriptedRouting()
    let resolver = ScriptedResolver()
    let clock = ManualClock()
    let source: NetworkSource

    init(resolverFiles: [String] = [], refusedGroups: Int = 0, clock: (any MonitorClock)? = nil) {
        let feeds = FeedList()
        source = NetworkSource(
            routing: routing,
            resolver: resolver,
            clock: clock ?? self.clock,
            resolverFiles: resolverFiles,
            changes: { () throws(RoutingFault) in try feeds.open(refusedGroups: refusedGroups) }
        )
        list = feeds
    }

    private let list: FeedList

    /// The feed that the running monitor reads; `nil` before there was one.
    var feed: ScriptedFeed? {
        list.feeds.withLock { $0.last }
    }

    /// How often a monitor was started.
    var starts: Int {
        list.feeds.withLock { $0.count }
    }

    func handle(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1))
    ) throws -> NetworkReachability {
        try NetworkReachability(target: target, source: source)
    }

    /// Changes a route and announces it, as the kernel does.
    func setRoute(_ isThere: Bool, _ prefix: IPPrefix = documentation) {
        routing.setRoute(prefix, isThere)
        feed?.announce(.route(prefix))
    }

    /// 192.0.2.0/24.
    static let documentation = IPPrefix(IPAddress(192, 0, 2, 0), length: 24) ?? .allV4

    private final class FeedList: Sendable {
        let feeds = Locked<[ScriptedFeed]>([])

        func open(refusedGroups: Int) throws(RoutingFault) -> ScriptedFeed {
            let feed = try ScriptedFeed(refusedGroups: refusedGroups)
            feeds.withLock { $0.append(feed) }
            return feed
        }
    }
}

/// Routes out of one interface that works.
final class ScriptedRouting: RoutingSource {
    private struct State {
        var routes: Set<IPPrefix> = []
        var lifetime: Int32?
        var fault: RoutingFault?
        var asked: [IPAddress] = []
        var hasInterface = true
        var beforeNext: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    func setRoute(_ prefix: IPPrefix, _ isThere: Bool) {
        state.withLock { state in
            if isThere { state.routes.insert(prefix) } else { state.routes.remove(prefix) }
        }
    }

    /// Makes every question fail, or none.
    func fail(_ fault: RoutingFault?) {
        state.withLock { $0.fault = fault }
    }

    func setLifetime(_ ticks: Int32?) {
        state.withLock { $0.lifetime = ticks }
    }

    func setInterface(isThere: Bool) {
        state.withLock { $0.hasInterface = isThere }
    }

    /// Has something run before the next question is answered, on the thread that asks.
    func beforeNext(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeNext = body }
    }

    /// Everything that was asked since the last call.
    func takeAsked() -> [IPAddress] {
        state.withLock { state in
            defer { state.asked = [] }
            return state.asked
        }
    }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        RouteLookup(try answer(to: query))
    }

    private func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        state.withLock { $0.beforeNext.take() }?()
        return try state.withLock { (state) throws(RoutingFault) in
            state.asked.append(query.destination)
            if let fault = state.fault { throw fault }
            let best = state.routes.filter { $0.contains(query.destination) }.max { $0.length < $1.length }
            guard let best else { return .rejected(.noRoute) }
            let nexthop = Nexthop(interfaceIndex: 2)
            return .route(Route(destination: best, nexthops: [nexthop], expires: state.lifetime))
        }
    }

    func facts(aboutInterface index: UInt32, detail: InterfaceDetail) throws(RoutingFault) -> InterfaceFacts?
    {
        InterfaceFacts(link: Link(index: index, name: "eth0"))
    }

    func links() throws(RoutingFault) -> [Link] {
        state.withLock { $0.hasInterface } ? [Link(index: 2, name: "eth0")] : []
    }
}

/// Announcements that a test makes.
final class ScriptedFeed: ChangeFeed {
    private struct State {
        var queue: [KernelNotification] = []
        var isOverrun = false
        var fault: RoutingFault?
        var counters = FeedCounters()
    }

    private let state = Locked(State())
    private let wakeUp: EventFD
    let refusedGroups: Int

    init(refusedGroups: Int) throws(RoutingFault) {
        do {
            wakeUp = try EventFD()
        } catch {
            throw RoutingFault(error)
        }
        self.refusedGroups = refusedGroups
    }

    var descriptor: Int32 { wakeUp.descriptor }

    var counters: FeedCounters { state.withLock { $0.counters } }

    func announce(_ changes: KernelNotification...) {
        state.withLock { $0.queue += changes }
        wakeUp.signal()
    }

    /// Loses whatever is queued.
    func overrun() {
        state.withLock { state in
            state.queue = []
            state.isOverrun = true
        }
        wakeUp.signal()
    }

    /// Makes every read fail from now on.
    func fail() {
        state.withLock { $0.fault = RoutingFault(operation: "read announcements", number: 9) }
        wakeUp.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        wakeUp.reset()
        let (reading, changes) = try state.withLock { (state) throws(RoutingFault) in
            if let fault = state.fault { throw fault }
            if state.isOverrun {
                state.isOverrun = false
                state.counters.overruns += 1
                return (FeedReading.overrun, [KernelNotification]())
            }
            let changes = state.queue
            state.queue = []
            state.counters.messages += UInt64(changes.count)
            return (changes.isEmpty ? .empty : .changes, changes)
        }
        for change in changes { body(change) }
        return reading
    }
}

/// Names that a test knows; others are not found.
final class ScriptedResolver: HostResolver {
    private struct State {
        var answers: [String: HostResolution] = [:]
        var count = 0
        var fault: RoutingFault?
    }

    private let state = Locked(State())

    /// How many names were resolved.
    var count: Int { state.withLock { $0.count } }

    func set(_ name: String, _ answer: HostResolution) {
        state.withLock { $0.answers[name] = answer }
    }

    func fail(_ fault: RoutingFault?) {
        state.withLock { $0.fault = fault }
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        try state.withLock { (state) throws(RoutingFault) in
            state.count += 1
            if let fault = state.fault { throw fault }
            return state.answers[name] ?? .notFound
        }
    }
}

/// A clock that a test moves.
final class ManualClock: MonitorClock {
    private struct State {
        var now = MonitorInstant(nanoseconds: 0)
        var timeAsleep = Duration.zero
        var wakes: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    var now: MonitorInstant { state.withLock { $0.now } }
    /// How many are woken up when it is moved.
    var listenerCount: Int { state.withLock { $0.wakes.count } }
    var timeAsleep: Duration { state.withLock { $0.timeAsleep } }

    func delay(until instant: MonitorInstant) -> Duration? {
        instant <= now ? .zero : nil
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakes.append(wake) }
    }

    /// Lets time go by, part of it asleep.
    func advance(by duration: Duration, asleep: Duration = .zero) {
        let wakes = state.withLock { state in
            state.now = state.now + duration
            state.timeAsleep += asleep
            return state.wakes
        }
        for wake in wakes { wake() }
    }
}
