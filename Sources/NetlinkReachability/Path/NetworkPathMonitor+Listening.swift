// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import NetlinkRoute
internal import SystemSupport

extension NetworkPathMonitor {
    /// What is called with the path at the start, and with each that differs from the one before.
    ///
    /// It is called on the queue given to ``start(queue:)`` and nowhere else, one call after the other, with no
    /// lock held: it may change this property, cancel the monitor and release it. Set while started, the new
    /// handler is called with the current path. The monitor keeps it until ``cancel()``.
    public var pathUpdateHandler: PathUpdateHandler? {
        get { state.withLock { $0.handler } }
        set {
            let old = state.withLock { state in
                guard !state.isCancelled else { return nil as (PathUpdateHandler?, Listener?)? }
                let old = state.handler
                state.handler = newValue
                // Without a queue there is at most what a failed start has left.
                guard let queue = state.queue else { return (old, broadcast.replaceCallback(nil)) }
                return (old, listen(newValue, queue))
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Where the handler is called; `nil` before the start and after ``cancel()``.
    public var queue: DispatchQueue? {
        state.withLock { $0.queue }
    }

    /// Begins to call the handler: at once with the path as it is, then with every change.
    ///
    /// To start a monitor that is started does nothing, whatever the queue; one that was cancelled cannot be
    /// started again.
    ///
    /// Where the monitor cannot run, the handler is called with an unsatisfied path, and no more: start it again
    /// later. ``path()`` throws the reason.
    ///
    /// - Parameter queue: Where the handler is called.
    public func start(queue: DispatchQueue) {
        let old = state.withLock { state in
            guard !state.isCancelled, state.queue == nil else { return nil as Listener? }
            // That of a start that failed: it is not to be told what the new one is told.
            let old = broadcast.replaceCallback(nil)
            let isRunning = subscribe(&state)
            if isRunning { state.queue = queue }
            _ = listen(state.handler, queue, isOnce: !isRunning)
            return old
        }
        withExtendedLifetime(old) {}
    }

    /// Ends it for good: the handler is dropped, and every loop over the monitor ends.
    ///
    /// Called on the handler's queue, if that is serial, nothing is called after this returns. Called elsewhere,
    /// a call that has begun may still be running, and none begins later.
    public func cancel() {
        let (subscription, handlers) = state.withLock { state in
            state.isCancelled = true
            let handlers = (state.handler, broadcast.replaceCallback(nil))
            (state.handler, state.queue) = (nil, nil)
            return (state.subscription.take(), handlers)
        }
        subscription?.end()
        broadcast.finish()
        withExtendedLifetime(handlers) {}
    }

    /// Has a handler called from now on, instead of the one before, which is returned.
    private func listen(
        _ handler: PathUpdateHandler?,
        _ queue: DispatchQueue,
        isOnce: Bool = false
    ) -> Listener? {
        guard let handler else { return broadcast.replaceCallback(nil) }
        let metering = metering
        // Two readings can come to the same path.
        let told = Locked<NetworkPath?>(nil)
        return broadcast.replaceCallback(
            PathBroadcast.Callback(queue: queue, work: pendingWork) { reading in
                let path = metering.applied(to: reading.path)
                let isNews = told.withLock { told in
                    defer { told = path }
                    return told != path
                }
                if isNews { handler(path) }
            },
            isOnce: isOnce
        )
    }

    /// Takes a place at the monitor unless there is one, and has the first path told.
    ///
    /// - Returns: False when the monitor cannot run.
    private func subscribe(_ state: inout State) -> Bool {
        if state.subscription != nil { return true }
        let feed = broadcast.makeFeed()
        guard let source = try? source(),
            let subscription = try? PathSubscription(source.monitor, restriction)
        else {
            feed.offer(.unknown)
            return false
        }
        subscription.begin(feed)
        state.subscription = subscription
        return true
    }
}

// MARK: - Loops

extension NetworkPathMonitor {
    /// Begins a loop; `nil` when the monitor was cancelled, or cannot run: then an unsatisfied path is all.
    func beginLoop(_ stream: PathBroadcast.Stream, _ watch: IterationTracker?) -> UInt64? {
        state.withLock { state in
            guard !state.isCancelled else { return nil }
            guard subscribe(&state) else {
                stream.yield(PathReading(path: .unknown, metering: 0))
                return nil
            }
            state.loops += 1
            return broadcast.add(stream, watch)
        }
    }

    /// Ends a loop; the last one to listen gives the place at the monitor back.
    func endLoop(_ number: UInt64) {
        broadcast.removeStream(number)
        let subscription = state.withLock { state -> PathSubscription? in
            state.loops -= 1
            guard state.loops == 0, state.queue == nil else { return nil }
            return state.subscription.take()
        }
        subscription?.end()
    }
}
