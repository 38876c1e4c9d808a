// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability

/// Monitors the default path of this host, by Apple's name.
///
/// ```swift
/// let monitor = NWPathMonitor()
/// monitor.pathUpdateHandler = { path in print(path.status == .satisfied ? "online" : "offline") }
/// monitor.start(queue: .main)
/// ```
///
/// A thin layer over `NetworkPathMonitor` of NetlinkReachability, which documents the guarantees. Differences to
/// Apple: a second start has no effect, the current path is correct before the start, and equal paths are not
/// delivered twice.
public final class NWPathMonitor: Sendable {
    private let base: NetworkPathMonitor

    /// Wraps a monitor, for example one with another source.
    package init(_ base: NetworkPathMonitor) {
        self.base = base
    }

    /// Monitors the path through interfaces of any type.
    public convenience init() {
        self.init(NetworkPathMonitor())
    }

    /// Monitors the path through interfaces of one type.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(NetworkPathMonitor(requiredInterfaceType: requiredInterfaceType.base))
    }

    /// Monitors the path through interfaces of all types except some.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(NetworkPathMonitor(prohibitedInterfaceTypes: prohibitedInterfaceTypes.map(\.base)))
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
                base.pathUpdateHandler = { handler(NWPath($0)) }
            } else {
                base.pathUpdateHandler = nil
            }
        }
    }

    /// The current path, also before the start.
    public var currentPath: NWPath { NWPath(base.currentPath) }

    /// The queue of the handler; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? { base.queue }

    /// Starts to call the handler, with the current path and then with every change.
    ///
    /// - Parameter queue: The queue of the handler.
    public func start(queue: DispatchQueue) {
        base.start(queue: queue)
    }

    /// Cancels the monitor permanently: the handler is released, and every iteration ends.
    public func cancel() {
        base.cancel()
    }
}

extension NWPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NWPath
    /// It never fails.
    public typealias Failure = Never

    /// Starts an iteration with the current path and then every change, without ``start(queue:)``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator())
    }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: NetworkPathMonitor.Iterator

        init(base: NetworkPathMonitor.Iterator) {
            self.base = base
        }

        /// Waits for a path that differs from the last one; `nil` once the monitor or the task is cancelled.
        public mutating func next() async -> NWPath? {
            await next(isolation: nil)
        }

        /// Waits for a path that differs from the last one; `nil` once the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NWPath? {
            await base.next(isolation: actor).map(NWPath.init)
        }
    }
}
