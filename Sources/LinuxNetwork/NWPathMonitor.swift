// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
internal import NetlinkRoute
internal import SystemSupport

/// Monitors the default path of this host, by Apple's name.
///
/// ```swift
/// let monitor = NWPathMonitor()
/// monitor.pathUpdateHandler = { path in print(path.status == .satisfied ? "online" : "offline") }
/// monitor.start(queue: .main)
/// ```
///
/// A thin layer over `NetworkPathMonitor` of NetlinkReachability, which documents the guarantees. As on Apple's
/// platforms, and unlike `NetworkPathMonitor`, a started monitor keeps itself until ``cancel()``: the handler is called
/// although the program keeps no reference. Differences to Apple: a second start has no effect, the current path is
/// correct before the start, and equal paths are not delivered twice.
public final class NWPathMonitor: Sendable {
    private struct State {
        /// This object and the queue of the handler, from the start to the end.
        var started: (monitor: NWPathMonitor, queue: DispatchQueue)?
        /// The path at the end.
        var last: NWPath?
    }

    /// How long after the start the handler is called at the earliest.
    ///
    /// On Apple's platforms the first path takes some milliseconds. Initializers that start a monitor and then set
    /// what the handler uses depend on it.
    private static let firstCallDelay = DispatchTimeInterval.milliseconds(10)

    private let base: NetworkPathMonitor
    private let state = Locked(State())
    private let radios: RadioFacts

    /// Wraps a monitor, for example one with another source.
    ///
    /// - Parameters:
    ///   - base: The monitor.
    ///   - signal: Returns the signal of the Wi-Fi interface with an index, in dBm; `nil` if it is not known.
    package convenience init(
        _ base: NetworkPathMonitor,
        signal: @escaping @Sendable (UInt32) -> Int8? = { _ in nil }
    ) {
        self.init(base, RadioFacts(signal: signal))
    }

    init(_ base: NetworkPathMonitor, _ radios: RadioFacts) {
        self.base = base
        self.radios = radios
        // A monitor that cannot start has a path by Apple's name: its type has no place for an error.
        base.failureHandler = { [weak base] _ in
            if let base, base.queue == nil { base.pathUpdateHandler?(.unknown) }
        }
    }

    private convenience init(
        _ base: NetworkPathMonitor,
        admitting isAdmitted: @escaping @Sendable (NWInterface.InterfaceType) -> Bool
    ) {
        let switches = RadioSwitches()
        self.init(
            base,
            RadioFacts(
                signal: { DeviceFacts.signal(ofInterface: $0) },
                unsatisfiedReason: { switches.reason(isAdmitted) }
            )
        )
    }

    /// Monitors the path through interfaces of any type.
    public convenience init() {
        self.init(NetworkPathMonitor(), admitting: { _ in true })
    }

    /// Monitors the path through interfaces of one type.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(
            NetworkPathMonitor(requiredInterfaceType: requiredInterfaceType.base),
            admitting: { $0 == requiredInterfaceType }
        )
    }

    /// Monitors the path through interfaces of all types except some.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(
            NetworkPathMonitor(prohibitedInterfaceTypes: prohibitedInterfaceTypes.map(\.base)),
            admitting: { !prohibitedInterfaceTypes.contains($0) }
        )
    }

    /// The handler, called with the path at the start, and with each path that differs from the one before.
    ///
    /// The monitor keeps the handler until ``cancel()``.
    @preconcurrency public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get {
            guard let handler = base.pathUpdateHandler else { return nil }
            return { handler($0.base) }
        }
        set {
            if let handler = newValue {
                base.pathUpdateHandler = { [radios] in handler(NWPath($0, radios)) }
            } else {
                base.pathUpdateHandler = nil
            }
        }
    }

    /// The current path, also before the start; after ``cancel()``, the path at that moment.
    public var currentPath: NWPath {
        state.withLock { $0.last } ?? NWPath(base.currentPath ?? .unknown, radios)
    }

    /// The queue of the handler; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? {
        state.withLock { $0.started?.queue }
    }

    /// Starts to call the handler, with the current path and then with every change.
    ///
    /// The first call comes some milliseconds later. If `queue` is serial and the caller is on it, the call also waits
    /// for the caller's work item. On any other queue, only that time puts the code after the start before the call.
    ///
    /// The monitor keeps itself until ``cancel()``, also if the program releases it.
    ///
    /// - Parameter queue: The queue of the handler.
    public func start(queue: DispatchQueue) {
        let calls = DispatchQueue(label: "NWPathMonitor", attributes: .initiallyInactive, target: queue)
        base.start(queue: calls)
        // Also a queue without calls is activated: an inactive one cannot be released.
        queue.asyncAfter(deadline: .now() + Self.firstCallDelay) { calls.activate() }
        state.withLock { state in
            // The queue is missing if the start failed, and after the end.
            if base.queue != nil, state.started == nil { state.started = (self, queue) }
        }
    }

    /// Cancels the monitor permanently: the handler is released, and every iteration ends.
    public func cancel() {
        let last = currentPath
        base.cancel()
        let started = state.withLock { state in
            state.last = state.last ?? last
            return state.started.take()
        }
        withExtendedLifetime(started) {}
    }
}

extension NWPathMonitor: CustomDebugStringConvertible {
    /// The current path, such as `NWPathMonitor(satisfied, interface: eth0, ipv4, dns)`.
    public var debugDescription: String { "NWPathMonitor(\(currentPath))" }
}

extension NWPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NWPath
    /// It never fails.
    public typealias Failure = Never

    /// Starts an iteration with the current path and then every change, without ``start(queue:)``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.skippingFailures.makeAsyncIterator(), radios: radios)
    }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        var base: NetworkPathMonitor.Iterator
        let radios: RadioFacts

        /// Waits for a path that differs from the last one; `nil` once the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NWPath? {
            do {
                return try await base.next(isolation: actor).map { NWPath($0, radios) }
            } catch {
                // The monitor cannot run: the iteration ends after this path.
                return NWPath(.unknown, radios)
            }
        }
    }
}
