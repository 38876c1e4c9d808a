// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import SystemSupport

/// Monitors the default path of this host.
///
/// ```swift
/// let monitor = NetworkPathMonitor()
/// monitor.pathUpdateHandler = { path in
///     print(path.status == .satisfied ? "online" : "offline", path.availableInterfaces.map(\.name))
/// }
/// monitor.start(queue: .main)
/// ```
///
/// Or as a sequence, which needs no start:
///
/// ```swift
/// for try await path in NetworkPathMonitor() { print(path) }
/// ```
///
/// The path follows the rules of the flags. Changes are delivered with the same timing and the same promises: the
/// current path first, then only paths that differ from the previous one, in order, and the newest one to a slow
/// receiver. All monitors of a source share the thread and the notifications of its ``NetworkReachability`` handles.
///
/// What it cannot know: see ``NetworkPath``. A path that could not be found is a failure, and never an unsatisfied
/// path: ``path()`` and loops throw it, and ``failureHandler`` is called with it.
///
/// Apple's counterpart is `NWPathMonitor`, whose members have the same names. Unlike there, starting twice has no
/// effect, the current path is right before the start, and failures are reported. Unlike there, a started monitor does
/// not retain itself: keep a reference, or it stops without a call.
public final class NetworkPathMonitor: Sendable {
    /// Called with paths.
    public typealias PathUpdateHandler = @Sendable (NetworkPath) -> Void

    /// Called with the reason that there is no path.
    public typealias FailureHandler = @Sendable (ReachabilityError) -> Void

    private typealias PathSink = CallbackSink<PathQuery>

    private struct State {
        var handler: PathUpdateHandler?
        var failureHandler: FailureHandler?
        /// Where the handler is called; `nil` unless the monitor is started.
        var queue: DispatchQueue?
        /// What calls the handlers; `nil` unless the monitor is started.
        var sink: PathSink?
        /// The registration of the sink's observation; `nil` unless the monitor is started.
        var registration: SharedMonitor.Registration?
        /// The sinks of the loops over this monitor.
        var loops: [ObjectIdentifier: StreamSink<PathQuery>] = [:]
        var isCancelled = false
    }

    /// `nil` if no netlink socket could be opened at the beginning.
    private let opened: NetworkSource?
    private let question: PathQuery
    let metering: NetworkMetering
    private let state = Locked(State())

    /// Monitors the default path through interfaces of any type.
    ///
    /// - Parameters:
    ///   - options: The socket whose path it is. While the interface that they name does not exist, the path is
    ///     unsatisfied.
    ///   - source: The network that answers; `nil` for the live kernel, see ``NetworkSource/kernel()``.
    ///   - metering: Decides which interfaces are expensive or constrained.
    public convenience init(
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathQuery(options: options), source, metering)
    }

    /// Monitors the default path through interfaces of one type.
    ///
    /// The path is satisfied if a socket that is bound to such an interface can send to any address.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: The type.
    ///   - options: The socket whose path it is, as for ``init(options:source:metering:)``.
    ///   - source: The network that answers; `nil` for the live kernel.
    ///   - metering: Decides which interfaces are expensive or constrained.
    public convenience init(
        requiredInterfaceType: NetworkInterface.InterfaceType,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathQuery(required: requiredInterfaceType, options: options), source, metering)
    }

    /// Monitors the default path through interfaces of all types except some.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: The types that the path must not take.
    ///   - options: The socket whose path it is, as for ``init(options:source:metering:)``.
    ///   - source: The network that answers; `nil` for the live kernel.
    ///   - metering: Decides which interfaces are expensive or constrained.
    public convenience init(
        prohibitedInterfaceTypes: [NetworkInterface.InterfaceType],
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathQuery(prohibited: Set(prohibitedInterfaceTypes), options: options), source, metering)
    }

    private init(_ question: PathQuery, _ source: NetworkSource?, _ metering: NetworkMetering) {
        self.question = question
        self.metering = metering
        opened = source ?? (try? .kernel())
    }

    deinit {
        cancel()
    }
}

extension NetworkPathMonitor: CustomDebugStringConvertible {
    /// The path while the monitor is started: `NetworkPathMonitor(satisfied (eth0))`.
    public var debugDescription: String {
        "NetworkPathMonitor(\(knownPath?.description ?? "not started"))"
    }
}

// MARK: - Queries

extension NetworkPathMonitor {
    /// The path: the latest one while the monitor is started, else the result of a query now; `nil` if it could
    /// not be found, for the reason that ``path()`` throws.
    ///
    /// It needs no start and no queue. While started it costs no system call, and can be newer than the path that a
    /// slow handler was called with.
    ///
    /// Apple's counterpart is `currentPath`, which is a placeholder before the first update.
    public var currentPath: NetworkPath? {
        knownPath ?? (try? path())
    }

    /// The latest path while the monitor is started.
    private var knownPath: NetworkPath? {
        state.withLock { $0.sink }?.answered.map { metering.applied(to: $0.path) }
    }

    /// Asks now.
    ///
    /// - Returns: The path.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no.
    public func path() throws(ReachabilityError) -> NetworkPath {
        try verdict().path
    }

    /// Asks now, and returns the path with its reason.
    package func verdict() throws(ReachabilityError) -> PathVerdict {
        metering.applied(to: try question.answer(from: try source().facts))
    }

    /// The source; if opening the kernel's failed at the beginning, it is tried again.
    private func source() throws(ReachabilityError) -> NetworkSource {
        if let opened { return opened }
        return try .kernel()
    }

    /// Reads the costs of the path's interfaces again, and delivers the path if it differs then.
    public func meteringDidChange() {
        let (sink, loops) = state.withLock { ($0.sink, Array($0.loops.values)) }
        sink?.redeliver()
        for loop in loops { loop.redeliver() }
    }
}

// MARK: - Handler

extension NetworkPathMonitor {
    /// Called with the current path at the start, and with each path that differs from the previous one.
    ///
    /// It is called on the queue given to ``start(queue:)`` only, one call after the other, with no lock held: it can
    /// change this property, cancel the monitor and release it. If it is set while the monitor is started, the new
    /// handler is called with the current path. The monitor keeps it until ``cancel()``.
    public var pathUpdateHandler: PathUpdateHandler? {
        get { state.withLock { $0.handler } }
        set { replaceHandlers { $0.handler = newValue } }
    }

    /// Called when the monitor cannot start or the path cannot be found, once for as long as that fails in the same
    /// way.
    ///
    /// It is called on the queue given to ``start(queue:)``, between the calls of ``pathUpdateHandler`` and under the
    /// same conditions. The next path means that evaluations succeed again.
    public var failureHandler: FailureHandler? {
        get { state.withLock { $0.failureHandler } }
        set { replaceHandlers { $0.failureHandler = newValue } }
    }

    private func replaceHandlers(_ replace: (inout State) -> Void) {
        let old = state.withLock { state in
            guard !state.isCancelled else { return nil as (any Sendable)? }
            let old = (state.handler, state.failureHandler)
            replace(&state)
            return (old, state.sink?.redeliver(to: listener(state)))
        }
        withExtendedLifetime(old) {}
    }

    /// Where the handler is called; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? {
        state.withLock { $0.queue }
    }

    /// Calls the handler with the current path, and then with every change.
    ///
    /// Starting a started monitor has no effect, whatever the queue; a cancelled one cannot be started again.
    ///
    /// If the monitor cannot run, ``failureHandler`` is called on the queue with the reason: start it again later.
    ///
    /// - Parameter queue: Where the handlers are called.
    public func start(queue: DispatchQueue) {
        do {
            try start(question, queue) { listener($0) }
        } catch {
            let handler = failureHandler
            queue.async { handler?(error) }
        }
    }

    private func start(
        _ question: PathQuery,
        _ queue: DispatchQueue,
        _ handler: (State) -> PathSink.Handler
    ) throws(ReachabilityError) {
        guard state.withLock({ !$0.isCancelled && $0.sink == nil }) else { return }
        let monitor = try source().monitor
        let subscription = try Subscription(question, monitor)
        let isStarted = state.withLock { state in
            guard !state.isCancelled, state.sink == nil else { return false }
            let sink = PathSink(
                question, delivery: .queue(queue), work: monitor.work, handler: handler(state))
            (state.sink, state.queue, state.registration) = (sink, queue, subscription.registration)
            subscription.begin(sink)
            return true
        }
        if !isStarted { subscription.registration.end() }
    }

    /// Ends the monitor permanently: the handler is released, and every loop over the monitor ends.
    ///
    /// Called on the handler's queue, if that is serial, no call comes after this returns. Called elsewhere, a call
    /// that has begun can still be running, and none begins later.
    public func cancel() {
        let (old, handler) = state.withLock { state in
            defer { state = State(isCancelled: true) }
            return (state, state.sink?.close(keepsStored: false))
        }
        old.registration?.end()
        // Without the lock: each end calls back.
        for loop in old.loops.values { loop.finish() }
        // Released without it, too.
        withExtendedLifetime((old, handler)) {}
    }

    /// Calls a handler with the current path and its reason, with each path that differs, and with failures.
    ///
    /// Setting ``pathUpdateHandler`` replaces the handler. On a started or cancelled monitor this has no effect.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Called with the results.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    package func startObserving(
        queue: DispatchQueue,
        _ handler: @escaping @Sendable (Result<PathVerdict, ReachabilityError>) -> Void
    ) throws(ReachabilityError) {
        let metering = metering
        try start(question, queue) { _ in { result in handler(result.map { metering.applied(to: $0) }) } }
    }

    private func listener(_ state: State) -> PathSink.Handler {
        let (handler, failureHandler, metering) = (state.handler, state.failureHandler, metering)
        // Two paths can be equal after the costs are applied.
        let delivered = Locked<NetworkPath?>(nil)
        return { result in
            let path = result.answer.map { metering.applied(to: $0.path) }
            let isChange = delivered.withLock { delivered in
                defer { delivered = path }
                return delivered != path
            }
            switch result {
            case .success: if let path, isChange { handler?(path) }
            case .failure(let error): failureHandler?(error)
            }
        }
    }
}

// MARK: - Loops

extension NetworkPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NetworkPath
    /// Why the path could not be found.
    public typealias Failure = ReachabilityError

    /// Begins a loop, which gets the current path, then every change.
    ///
    /// Each loop is independent, keeps the monitor, and needs no ``start(queue:)``. The same path never comes twice in
    /// a row, and a loop that is slower than the network gets the newest path. It fails if the monitor cannot run or
    /// the path cannot be found, and ends when the monitor or its task is cancelled.
    public func makeAsyncIterator() -> Iterator {
        iterator(skipsFailures: false)
    }

    /// The paths without failures.
    ///
    /// A loop continues when the path is found again. It fails only if the monitor cannot run.
    public var skippingFailures: Paths { Paths(monitor: self) }

    /// The paths of a monitor: see ``NetworkPathMonitor/skippingFailures``.
    public struct Paths: AsyncSequence, Sendable {
        let monitor: NetworkPathMonitor

        /// Begins a loop.
        public func makeAsyncIterator() -> Iterator {
            monitor.iterator(skipsFailures: true)
        }
    }

    /// One loop, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        let monitor: NetworkPathMonitor
        /// Set to `.failure` if the monitor could not start, and to `nil` after a failure or a cancellation.
        var base: Result<ObservationIterator<PathVerdict>, ReachabilityError>?

        /// Waits for a path that differs from the last one.
        ///
        /// - Returns: The path; `nil` after the monitor or the task is cancelled, or the loop has failed.
        /// - Throws: `ReachabilityError` if the monitor cannot run, or the path cannot be found.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReachabilityError) -> NetworkPath? {
            guard var iteration = try base.take()?.get() else { return nil }
            let metering = monitor.metering
            let verdict = try await iteration.next(isolation: actor) { metering.applied(to: $0) }?.get()
            base = .success(iteration)
            return verdict?.path
        }
    }

    private func iterator(skipsFailures: Bool) -> Iterator {
        guard !state.withLock({ $0.isCancelled }) else { return Iterator(monitor: self, base: nil) }
        return Iterator(
            monitor: self,
            base: Result { () throws(ReachabilityError) in
                try ObservationIterator(
                    question,
                    source().monitor,
                    skipsFailures: skipsFailures,
                    atBegin: { sink in
                        let isCancelled = state.withLock { state in
                            if !state.isCancelled { state.loops[ObjectIdentifier(sink)] = sink }
                            return state.isCancelled
                        }
                        if isCancelled { sink.finish() }
                    },
                    atEnd: { [weak self] id in self?.state.withLock { $0.loops[id] = nil } }
                )
            })
    }
}
