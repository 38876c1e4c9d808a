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
/// for await path in NetworkPathMonitor() { print(path) }
/// ```
///
/// The path follows the rules of the flags. Changes are delivered with the same timing and the same promises: the
/// current path first, then only paths that differ from the previous one, in order, and the newest one to a slow
/// receiver. All monitors of a source share the thread and the notifications of its ``NetworkReachability`` handles.
///
/// What it cannot know: see ``NetworkPath``. If no netlink socket or thread can be created, the path is unsatisfied;
/// ``path()`` throws the reason.
///
/// Apple's counterpart is `NWPathMonitor`, whose members have the same names. Unlike there, starting twice has no
/// effect, and the current path is right before the start.
public final class NetworkPathMonitor: Sendable {
    /// Called with paths.
    public typealias PathUpdateHandler = @Sendable (NetworkPath) -> Void

    private typealias PathSink = CallbackSink<PathQuestion, AnswerHandler<PathVerdict>>

    private struct State {
        var handler: PathUpdateHandler?
        /// Where the handler is called; `nil` unless the monitor is started.
        var queue: DispatchQueue?
        /// What calls the handler, also once after a start that failed.
        var sink: PathSink?
        /// The registration of the sink's observation; `nil` unless the monitor is started.
        var registration: SharedMonitor.Registration?
        /// The sinks of the loops over this monitor.
        var loops: [ObjectIdentifier: StreamSink<PathQuestion>] = [:]
        var isCancelled = false
    }

    /// `nil` if no netlink socket could be opened at the beginning.
    private let opened: NetworkSource?
    private let question: PathQuestion
    let metering: NetworkMetering
    private let state = Locked(State())

    /// Monitors the default path through interfaces of any type.
    ///
    /// - Parameters:
    ///   - options: The socket whose path it is. While the interface that they name does not exist, the path is
    ///     unsatisfied, and ``path()`` throws ``ReachabilityError/Code/unknownInterface``.
    ///   - source: The network that answers; `nil` for the live kernel, see ``NetworkSource/kernel()``.
    ///   - metering: Decides which interfaces are expensive or constrained.
    public convenience init(
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathQuestion(options: options), source, metering)
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
        self.init(PathQuestion(required: requiredInterfaceType, options: options), source, metering)
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
        self.init(PathQuestion(prohibited: Set(prohibitedInterfaceTypes), options: options), source, metering)
    }

    private init(_ question: PathQuestion, _ source: NetworkSource?, _ metering: NetworkMetering) {
        self.question = question
        self.metering = metering
        opened = source ?? (try? .kernel())
    }

    deinit {
        cancel()
    }
}

// MARK: - Questions

extension NetworkPathMonitor {
    /// The path: the latest one while the monitor is started, else the result of a question now.
    ///
    /// It needs no start and no queue. While started it costs no system call, and can be newer than the path that a
    /// slow handler was called with.
    ///
    /// Apple's counterpart is `currentPath`, which is a placeholder before the first update.
    public var currentPath: NetworkPath {
        let known = state.withLock { $0.registration == nil ? nil : $0.sink?.newest }
        if let known { return metering.applied(to: known.path) }
        return (try? path()) ?? .unknown
    }

    /// Asks now.
    ///
    /// - Returns: The path.
    /// - Throws: ``ReachabilityError`` if the question could not be answered, which is not the same as no.
    public func path() throws(ReachabilityError) -> NetworkPath {
        try verdict().path
    }

    /// Asks now, and returns the path with its reason.
    package func verdict() throws(ReachabilityError) -> PathVerdict {
        var question = question
        question.failsWithoutInterface = true
        return metering.applied(to: try question.answer(from: try source().facts))
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
        set {
            let listener = listener(newValue)
            let old = state.withLock { state in
                guard !state.isCancelled else { return nil as (any Sendable)? }
                let handler = state.handler
                state.handler = newValue
                if state.registration != nil { return (handler, state.sink?.redeliver(to: listener)) }
                // Left by a start that failed.
                return (handler, state.sink.take()?.close(keepsStored: false))
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Where the handler is called; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? {
        state.withLock { $0.queue }
    }

    /// Calls the handler with the current path, and then with every change.
    ///
    /// Starting a started monitor has no effect, whatever the queue; a cancelled one cannot be started again.
    ///
    /// If the monitor cannot run, the handler is called once with an unsatisfied path: start it again later.
    /// ``path()`` throws the reason.
    ///
    /// - Parameter queue: Where the handler is called.
    public func start(queue: DispatchQueue) {
        let source = try? source()
        let old = state.withLock { state in
            guard !state.isCancelled, state.registration == nil else { return nil as (any Sendable)? }
            let old = state.sink?.close(keepsStored: false)
            let sink = PathSink(
                question,
                delivery: .queue(queue),
                work: source?.monitor.work,
                handler: listener(state.handler)
            )
            state.sink = sink
            if let source, let subscription = try? Subscription(question, source.monitor) {
                state.queue = queue
                state.registration = subscription.registration
                subscription.begin(sink)
            } else {
                sink.offer(.answer(.unknown))
            }
            return old
        }
        withExtendedLifetime(old) {}
    }

    /// Ends the monitor permanently: the handler is released, and every loop over the monitor ends.
    ///
    /// Called on the handler's queue, if that is serial, no call comes after this returns. Called elsewhere, a call
    /// that has begun can still be running, and none begins later.
    public func cancel() {
        let (registration, loops, handlers) = state.withLock { state in
            let handlers: any Sendable = (state.handler, state.sink.take()?.close(keepsStored: false))
            let loops = Array(state.loops.values)
            (state.handler, state.queue, state.loops, state.isCancelled) = (nil, nil, [:], true)
            return (state.registration.take(), loops, handlers)
        }
        registration?.end()
        // Without the lock: each end calls back.
        for loop in loops { loop.finish() }
        withExtendedLifetime(handlers) {}
    }

    /// Calls a handler with the current path and its reason, with each path that differs, and with failures.
    ///
    /// Unlike with ``start(queue:)``, a missing interface is a failure. Setting ``pathUpdateHandler`` replaces the
    /// handler. On a started or cancelled monitor this has no effect.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - handler: Called with the results.
    /// - Throws: ``ReachabilityError`` if no netlink socket or thread can be created.
    package func startObserving(
        queue: DispatchQueue,
        _ handler: @escaping @Sendable (Observed<PathVerdict>) -> Void
    ) throws(ReachabilityError) {
        var question = question
        question.failsWithoutInterface = true
        let monitor = try source().monitor
        let subscription = try Subscription(question, monitor)
        let metering = metering
        let sink = PathSink(
            question,
            delivery: .queue(queue),
            work: monitor.work,
            handler: .results { observed in handler(observed.map { metering.applied(to: $0) }) }
        )
        let isStarted = state.withLock { state in
            guard !state.isCancelled, state.registration == nil else { return false }
            (state.sink, state.queue, state.registration) = (sink, queue, subscription.registration)
            subscription.begin(sink)
            return true
        }
        if !isStarted { subscription.end() }
    }

    private func listener(_ handler: PathUpdateHandler?) -> AnswerHandler<PathVerdict> {
        guard let handler else { return .answers { _ in } }
        let metering = metering
        // Two paths can be equal after the costs are applied.
        let delivered = Locked<NetworkPath?>(nil)
        return .answers { answer in
            let path = metering.applied(to: answer.path)
            let isChange = delivered.withLock { delivered in
                defer { delivered = path }
                return delivered != path
            }
            if isChange { handler(path) }
        }
    }
}

// MARK: - Loops

extension NetworkPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NetworkPath
    /// The sequence never fails.
    public typealias Failure = Never

    /// Begins a loop, which gets the current path, then every change.
    ///
    /// Each loop is independent, keeps the monitor, and needs no ``start(queue:)``. The same path never comes twice in
    /// a row, and a loop that is slower than the network gets the newest path. It ends when the monitor or its task is
    /// cancelled, and after one unsatisfied path if the monitor cannot run.
    public func makeAsyncIterator() -> Iterator {
        do {
            return Iterator(monitor: self, base: try beginLoop() ?? ObservationIterator(only: nil))
        } catch {
            return Iterator(monitor: self, base: ObservationIterator(only: .answer(.unknown)))
        }
    }

    /// One loop, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        let monitor: NetworkPathMonitor
        var base: ObservationIterator<PathQuestion>

        /// Waits for a path that differs from the last one; `nil` after the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            let metering = monitor.metering
            return await base.next(isolation: actor) { $0.map { metering.applied(to: $0) } }?.answer?.path
        }
    }
}

extension NetworkPathMonitor {
    /// Begins the observation of a loop; `nil` if the monitor was cancelled.
    ///
    /// - Throws: ``ReachabilityError`` if the monitor cannot run.
    private func beginLoop() throws(ReachabilityError) -> ObservationIterator<PathQuestion>? {
        guard !state.withLock({ $0.isCancelled }) else { return nil }
        let monitor = try source().monitor
        let iterator = try ObservationIterator(question, monitor, takesAnswersOnly: true) { [weak self] id in
            self?.state.withLock { $0.loops[id] = nil }
        }
        guard let sink = iterator.sink else { return iterator }
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.loops[ObjectIdentifier(sink)] = sink }
            return state.isCancelled
        }
        if isCancelled { sink.finish() }
        return iterator
    }
}
