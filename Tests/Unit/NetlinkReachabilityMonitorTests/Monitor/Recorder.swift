// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import SystemSupport

/// Keeps what a handler was called with.
final class Recorder: Sendable {
    private let flags = Locked<[ReachabilityFlags]>([])
    /// A serial queue for the handler.
    let queue = DispatchQueue(label: "recorder")

    /// The handler.
    var handler: @Sendable (Result<ReachabilityFlags, ReachabilityError>) -> Void {
        { result in if case .success(let flags) = result { self.record(flags) } }
    }

    func record(_ new: ReachabilityFlags) {
        flags.withLock { $0.append(new) }
    }

    private let isSuspended = Locked(false)

    /// Keeps the handler from being called.
    func suspend() {
        isSuspended.withLock { $0 = true }
        queue.suspend()
    }

    /// Lets the handler be called again.
    func resume() {
        queue.resume()
        isSuspended.withLock { $0 = false }
    }

    /// Waits for the calls that are due: flags that change before a call replace those of the call.
    func drain() {
        guard !isSuspended.withLock({ $0 }) else { return }
        for _ in 0..<4 { queue.sync {} }
    }

    /// What was recorded so far, after everything that is on the queue now, and what that puts there.
    var all: [ReachabilityFlags] {
        drain()
        return flags.withLock { $0 }
    }
}
