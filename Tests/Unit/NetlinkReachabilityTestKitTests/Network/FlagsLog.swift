// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import SystemSupport

/// The flags that a handler received, in order.
///
/// `Locked` and not `Mutex`: the thread sanitizer cannot see into that one.
final class FlagsLog: Sendable {
    private let entries = Locked<[String]>([])
    private let observation = Locked<NetworkObservation<ReachabilityFlags>?>(nil)

    /// The flags as letters.
    var all: [String] { entries.withLock { $0 } }

    /// Appends the letters of flags, or the text of a failure.
    func append(_ result: Result<ReachabilityFlags, ReachabilityError>, after prefix: String = "") {
        switch result {
        case .success(let flags): append(prefix + flags.letters)
        case .failure(let error): append(prefix + "\(error)")
        }
    }

    func append(_ entry: String) {
        entries.withLock { $0.append(entry) }
    }

    /// The entries since the last call.
    func take() -> [String] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }

    /// Observes a handle for as long as this log exists.
    func keep(_ reachability: NetworkReachability) throws {
        let begun = try reachability.observe { [weak self] in self?.append($0) }
        observation.withLock { $0 = begun }
    }

    func cancel() {
        observation.withLock { $0 }?.cancel()
    }
}

extension NetworkReachability {
    /// Observes the handle and records its flags.
    func log() throws -> FlagsLog {
        let log = FlagsLog()
        try log.keep(self)
        return log
    }
}
