// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// A path as the monitor tells it, before what its interfaces cost is added.
struct PathReading: Hashable, Sendable {
    var path: NetworkPath
    /// Moves on when the costs may have changed, so that the same path is news again.
    var metering: UInt64
}

/// Passes the paths of a subscription on to all who listen to one path monitor: its handler, and loops.
final class PathBroadcast: Sendable {
    typealias Callback = CallbackSink<PathReading>
    typealias Stream = AsyncStream<PathReading>.Continuation

    /// What a subscription tells; the one before it may still have something to say, which is out of date.
    private final class Feed: PathSink {
        let broadcast: PathBroadcast
        let number: UInt64

        init(_ broadcast: PathBroadcast, _ number: UInt64) {
            self.broadcast = broadcast
            self.number = number
        }

        func offer(_ path: NetworkPath) {
            broadcast.offer(path, from: number)
        }
    }

    /// Who waits for paths in a loop.
    private struct Loop {
        let stream: Stream
        let watch: IterationTracker?

        func offer(_ reading: PathReading) {
            watch?.willOffer()
            stream.yield(reading)
        }
    }

    private struct State {
        /// The number of the subscription that counts.
        var feed: UInt64 = 0
        var newest: PathReading?
        var metering: UInt64 = 0
        var callback: Callback?
        var loops: [UInt64: Loop] = [:]
        var nextStream: UInt64 = 0
    }

    private let state = Locked(State())

    /// The newest path; `nil` before the first.
    var newest: NetworkPath? {
        state.withLock { $0.newest?.path }
    }

    /// Forgets what was told before, and makes what a new subscription tells.
    func makeFeed() -> any PathSink {
        let number = state.withLock { state in
            state.feed += 1
            state.newest = nil
            return state.feed
        }
        return Feed(self, number)
    }

    private func offer(_ path: NetworkPath, from feed: UInt64) {
        state.withLock { state in
            guard state.feed == feed else { return }
            state.newest = PathReading(path: path, metering: state.metering)
            Self.pass(state)
        }
    }

    /// Passes the newest path on once more: its costs may be others.
    func meteringDidChange() {
        state.withLock { state in
            state.metering += 1
            guard state.newest != nil else { return }
            state.newest?.metering = state.metering
            Self.pass(state)
        }
    }

    /// Nobody else's code runs in here: a queue and a stream only take note.
    private static func pass(_ state: borrowing State) {
        guard let newest = state.newest else { return }
        state.callback?.offer(newest)
        for loop in state.loops.values { loop.offer(newest) }
    }

    /// Has a handler told from now on, the newest path first, instead of the one before.
    ///
    /// - Parameters:
    ///   - callback: What is told; `nil` for nobody.
    ///   - isOnce: Whether it is told the newest path and no other.
    /// - Returns: The handler before, to be let go of where no lock is held.
    func replaceCallback(_ callback: Callback?, isOnce: Bool = false) -> Callback.Handler? {
        state.withLock { state in
            let old = state.callback?.close()
            state.callback = callback
            if let newest = state.newest { callback?.offer(newest) }
            if isOnce { callback?.seal() }
            return old
        }
    }

    /// Has a loop told from now on, the newest path first.
    ///
    /// - Returns: Its number.
    func add(_ stream: Stream, _ watch: IterationTracker?) -> UInt64 {
        let loop = Loop(stream: stream, watch: watch)
        return state.withLock { state in
            state.nextStream += 1
            state.loops[state.nextStream] = loop
            if let newest = state.newest { loop.offer(newest) }
            return state.nextStream
        }
    }

    /// Forgets a loop that has ended.
    func removeStream(_ number: UInt64) {
        let removed = state.withLock { $0.loops.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }

    /// Ends every loop.
    func finish() {
        let loops = state.withLock { state in
            let loops = Array(state.loops.values)
            state.loops = [:]
            return loops
        }
        // Without the lock: each end calls back.
        for loop in loops { loop.stream.finish() }
    }
}
