// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability

/// Tells what the default path of this host is, and every change of it, by Apple's name.
///
/// ```swift
/// let monitor = NWPathMonitor()
/// monitor.pathUpdateHandler = { path in print(path.status == .satisfied ? "online" : "offline") }
/// monitor.start(queue: .main)
/// ```
///
/// Thin over `NetworkPathMonitor` of NetlinkReachability, which says what is promised. Other than with Apple, to
/// start twice does no harm, the current path is right before the start, and equal paths are never told twice.
public final class NWPathMonitor: Sendable {
    private let base: NetworkPathMonitor

    /// Wraps a monitor, such as one of another source.
    package init(_ base: NetworkPathMonitor) {
        self.base = base
    }

    /// Monitors the path through whatever interface it leads.
    public convenience init() {
        self.init(NetworkPathMonitor())
    }

    /// Monitors the path through interfaces of one type.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(NetworkPathMonitor(requiredInterfaceType: requiredInterfaceType.base))
    }

    /// Monitors the path through interfaces of all types but some.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(NetworkPathMonitor(prohibitedInterfaceTypes: prohibitedInterfaceTypes.map(\.base)))
    }

    /// What is called with the path at the start, and with each that differs from the one before.
    ///
    /// The monitor keeps it until ``cancel()``.
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

    /// The path as it is, before the start too.
    public var currentPath: NWPath { NWPath(base.currentPath) }

    /// Where the handler is called; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? { base.queue }

    /// Begins to call the handler: at once with the path as it is, then with every change.
    ///
    /// - Parameter queue: Where the handler is called.
    public func start(queue: DispatchQueue) {
        base.start(queue: queue)
    }

    /// Ends it for good: the handler is dropped, and every loop over the monitor ends.
    public func cancel() {
        base.cancel()
    }
}

extension NWPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NWPath
    /// It never fails.
    public typealias Failure = Never

    /// Starts a loop: it gets the path as it is, then every change, and needs no ``start(queue:)``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator())
    }

    /// One loop.
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
