// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
internal import SystemSupport

/// Monitors the default path of this host, by Apple's name.
///
/// ```swift
/// let monitor = NWPathMonitor()
/// monitor.pathUpdateHandler = { path in print(path.status == .satisfied ? "online" : "offline") }
/// monitor.start(queue: .main)
/// ```
///
/// A thin layer over the path of NetlinkReachability, which documents the guarantees. As on Apple's platforms, and
/// unlike an observation, a started monitor stays alive until ``cancel()``: the handler is called even if the program
/// keeps no reference. Differences from Apple: a second start has no effect, the current path is correct before the
/// start, and equal paths are not delivered twice.
///
/// With the package trait `NetworkManagers`, ``NWPath/isExpensive`` also depends on NetworkManager.
public final class NWPathMonitor: Sendable {
    /// The interface types that the path can use.
    struct Restriction {
        var required: NetworkInterface.InterfaceType?
        var prohibited: Set<NetworkInterface.InterfaceType> = []

        var metering = NetworkMetering.unmetered

        var query: NetworkQuery<NetworkPath> {
            .path(requiring: required, prohibiting: prohibited, metering: metering)
        }
    }

    private typealias Observation = NetworkObservation<NetworkPath>

    /// The observation of an iteration.
    ///
    /// It ends with the iteration.
    private struct Loop {
        weak var observation: (any EndableObservation)?
    }

    private struct State {
        var handler: (@Sendable (NWPath) -> Void)?
        /// This monitor, the program's queue and the queue of the calls; `nil` unless the monitor is running.
        var started: (monitor: NWPathMonitor, queue: DispatchQueue, calls: DispatchQueue)?
        /// The observation that calls the handler; `nil` without a handler.
        var observation: Observation?
        /// How often the handler was set.
        var handlerCount = 0
        var loops: [Loop] = []
        /// The path when the monitor ended.
        var last: NWPath?
    }

    /// The shortest time between the start and the first call of the handler.
    ///
    /// On Apple's platforms, the first path takes some milliseconds. Initializers that start a monitor and then set
    /// properties for the handler depend on this.
    private static let firstCallDelay = DispatchTimeInterval.milliseconds(10)

    private let restriction: Restriction
    private let source: NetworkSource
    private let radios: RadioFacts
    private let state = Locked(State())

    /// Monitors the path of a network.
    ///
    /// - Parameters:
    ///   - source: The network that answers.
    ///   - signal: Returns the signal of the Wi-Fi interface with an index, in dBm; `nil` if it is not known.
    package convenience init(
        source: NetworkSource,
        signal: @escaping @Sendable (UInt32) -> Int8? = { _ in nil }
    ) {
        self.init(Restriction(), source, RadioFacts(signal: signal))
    }

    init(_ restriction: Restriction, _ source: NetworkSource, _ radios: RadioFacts) {
        self.restriction = restriction
        self.source = source
        self.radios = radios
    }

    private convenience init(
        _ restriction: Restriction,
        admitting isAdmitted: @escaping @Sendable (NWInterface.InterfaceType) -> Bool
    ) {
        let switches = RadioSwitches()
        var restriction = restriction
        restriction.metering = .ofManagers
        self.init(
            restriction,
            .kernel,
            RadioFacts(
                signal: { DeviceFacts.signal(ofInterface: $0) },
                unsatisfiedReason: { switches.reason(isAdmitted) }
            )
        )
    }

    /// Monitors the path through interfaces of any type.
    public convenience init() {
        self.init(Restriction(), admitting: { _ in true })
    }

    /// Monitors the path through interfaces of one type.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(
            Restriction(required: requiredInterfaceType.base), admitting: { $0 == requiredInterfaceType })
    }

    /// Monitors the path through interfaces of all types except some.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(
            Restriction(prohibited: Set(prohibitedInterfaceTypes.map(\.base))),
            admitting: { !prohibitedInterfaceTypes.contains($0) }
        )
    }

    /// The handler.
    ///
    /// It is called with the path at the start, and with each path that differs from the one before.
    ///
    /// The monitor retains the handler until ``cancel()``.
    @preconcurrency public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { state.withLock { $0.handler } }
        set {
            let (old, calls) = state.withLock { state in
                let old = (state.handler, state.observation.take())
                // After the end, there is no handler.
                state.handler = state.last == nil ? newValue : nil
                state.handlerCount += 1
                return (old, state.started?.calls)
            }
            // Released without the lock.
            withExtendedLifetime(old) {}
            if let calls, newValue != nil { try? observe(calls) }
        }
    }

    /// The current path, even before the start; after ``cancel()``, the path at that moment.
    public var currentPath: NWPath {
        let (last, observation) = state.withLock { ($0.last, $0.observation) }
        if let last { return last }
        let path =
            observation?.current
            ?? (try? source.blockingValue(of: restriction.query))
        return radios.path(path ?? .unknown)
    }

    /// The queue of the handler; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? {
        state.withLock { $0.started?.queue }
    }

    /// Starts to call the handler, with the current path and then with every change.
    ///
    /// The first call comes some milliseconds later. If `queue` is serial and the caller is on it, the call also
    /// waits for the caller's work item. On any other queue, only this delay ensures that code after the start runs
    /// before the call.
    ///
    /// The monitor stays alive until ``cancel()``, even if the program releases it.
    ///
    /// - Parameter queue: The queue of the handler.
    public func start(queue: DispatchQueue) {
        let calls = DispatchQueue(label: "NWPathMonitor", attributes: .initiallyInactive, target: queue)
        let isFirst = state.withLock { state in
            guard state.started == nil, state.last == nil else { return false }
            state.started = (self, queue, calls)
            return true
        }
        // A queue without calls is also activated, because an inactive queue cannot be released.
        defer { queue.asyncAfter(deadline: .now() + Self.firstCallDelay) { calls.activate() } }
        guard isFirst else { return }
        do {
            try observe(calls)
        } catch {
            // If the monitor cannot start, the handler gets an unknown path, because the path type cannot express an
            // error.
            let (handler, started) = state.withLock { ($0.handler, $0.started.take()) }
            calls.async { [radios] in handler?(radios.path(.unknown)) }
            withExtendedLifetime(started) {}
        }
    }

    /// Begins to call the present handler instead of the previous one.
    private func observe(_ calls: DispatchQueue) throws(ReachabilityError) {
        let (handler, count) = state.withLock { ($0.handler, $0.handlerCount) }
        let observation = try source.observe(restriction.query, on: .queue(calls)) { [radios] result in
            // The last path stays valid while the path cannot be found.
            if let handler, case .success(let path) = result { handler(radios.path(path)) }
        }
        let old = state.withLock { state in
            // If another handler was set meanwhile, its setter begins the observation.
            guard state.last == nil, state.handlerCount == count else { return nil as Observation? }
            return exchange(&state.observation, with: observation)
        }
        withExtendedLifetime((old, observation)) {}
    }

    /// Cancels the monitor permanently: the handler is released, and every iteration ends.
    public func cancel() {
        let last = currentPath
        let old = state.withLock { state in
            defer { state = State(last: state.last ?? last) }
            return state
        }
        for loop in old.loops { loop.observation?.cancel() }
        // Released without the lock.
        withExtendedLifetime(old) {}
    }
}

extension NWPathMonitor: CustomDebugStringConvertible {
    /// The current path, such as `NWPathMonitor(satisfied, interface: eth0, ipv4, dns)`.
    public var debugDescription: String { "NWPathMonitor(\(currentPath))" }
}

extension NWPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NWPath
    /// The sequence never fails.
    public typealias Failure = Never

    /// Starts an iteration over the current path and every change, without ``start(queue:)``.
    public func makeAsyncIterator() -> Iterator {
        let iterator = source.updates(of: restriction.query).makeAsyncIterator()
        let isOver = state.withLock { state in
            state.loops.removeAll { $0.observation == nil }
            state.loops.append(Loop(observation: iterator.observation))
            return state.last != nil
        }
        return Iterator(base: isOver ? nil : iterator, radios: radios)
    }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        /// `nil` at the end.
        var base: NetworkUpdates<NetworkPath>.Iterator?
        let radios: RadioFacts

        /// Waits for a path that differs from the last one; `nil` after the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NWPath? {
            do {
                return try await base?.next(isolation: actor).map(radios.path)
            } catch {
                // The monitor cannot run, so the iteration ends after this path.
                return radios.path(.unknown)
            }
        }
    }
}
