// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRoute
import SystemSupport

/// What a handle was told, in order.
///
/// `Locked` and not `Mutex`: the thread sanitizer cannot see into that one.
final class FlagsLog: Sendable {
    private let entries = Locked<[String]>([])

    /// The flags as letters.
    var all: [String] { entries.withLock { $0 } }

    func append(_ flags: ReachabilityFlags) {
        append(flags.letters)
    }

    func append(_ entry: String) {
        entries.withLock { $0.append(entry) }
    }

    /// What was told since the last call.
    func take() -> [String] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }
}

extension NetworkReachability {
    /// Starts the handle, and keeps what it is told for as long as the handle is kept.
    func log() throws -> FlagsLog {
        let log = FlagsLog()
        try start { log.append($0) }
        return log
    }
}
