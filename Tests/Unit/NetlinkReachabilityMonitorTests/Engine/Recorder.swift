// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import NetlinkRoute
import SystemSupport

/// Keeps what a handler was called with.
final class Recorder: Sendable {
    private let flags = Locked<[ReachabilityFlags]>([])
    /// A serial queue for the handler.
    let queue = DispatchQueue(label: "recorder")

    /// The handler.
    var handler: @Sendable (ReachabilityFlags) -> Void {
        { self.record($0) }
    }

    func record(_ new: ReachabilityFlags) {
        flags.withLock { $0.append(new) }
    }

    /// What was recorded so far, after everything that is on the queue now, and what that puts there.
    var all: [ReachabilityFlags] {
        for _ in 0..<4 { queue.sync {} }
        return flags.withLock { $0 }
    }
}
