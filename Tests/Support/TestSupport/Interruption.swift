// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// SIGINT and SIGTERM, which end a run after it has printed its results so far.
///
/// The signals are blocked, and the run checks for pending signals between two networks.
package enum Interruption {
    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGTERM)
        return set
    }

    /// Blocks the signals.
    package static func prepare() {
        var set = signals
        sigprocmask(SIG_BLOCK, &set, nil)
    }

    /// The pending signal; `nil` for none.
    package static var signal: Int32? {
        var pending = sigset_t()
        guard sigpending(&pending) == 0 else { return nil }
        return [SIGINT, SIGTERM].first { sigismember(&pending, $0) == 1 }
    }
}
