// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Synchronization

/// The effect of SIGINT and SIGTERM on a command that runs until it is interrupted.
///
/// A signal that was ignored when the process started stays ignored, as under nohup and for a background job of sh.
/// Each handler runs once: a second signal ends the process.
enum Signals {
    /// The write end of the pipe of ``pipe()``.
    ///
    /// A signal handler may only use lock-free atomics and functions that are safe in handlers, such as write(2).
    private static let writeEnd = Atomic<Int32>(-1)

    /// Lets a signal end the process at once, even while its threads wait.
    ///
    /// The signal itself ends the process, so that a shell sees an interrupted command and ends its loop. PID 1 of a
    /// container has no default action: its exit status is 128 plus the signal number.
    static func endProcess() throws(ReachabilityError) {
        try handle { number in
            // SA_RESETHAND has restored the default action. A sanitizer calls handlers with all signals blocked.
            var raised = sigset_t()
            sigemptyset(&raised)
            sigaddset(&raised, number)
            pthread_sigmask(SIG_UNBLOCK, &raised, nil)
            raise(number)
            _exit(128 + number)
        }
    }

    /// Returns a descriptor that becomes readable when a signal arrives.
    static func pipe() throws(ReachabilityError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw ReachabilityError(in: .systemCall, operation: "open a pipe", number: errno)
        }
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        try handle { number in
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(Signals.writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        return ends[0]
    }

    private static func handle(_ handler: @convention(c) (Int32) -> Void) throws(ReachabilityError) {
        var handled = sigset_t()
        sigemptyset(&handled)
        for number in [SIGINT, SIGTERM] {
            sigaddset(&handled, number)
            var (old, action) = (sigaction(), sigaction())
            action.__sigaction_handler.sa_handler = handler
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
            guard sigaction(number, nil, &old) == 0,
                old.isIgnored || sigaction(number, &action, nil) == 0
            else {
                throw ReachabilityError(
                    in: .systemCall, operation: "handle the signal \(number)", number: errno)
            }
        }
        // A child inherits the signal mask of its parent, and threads of Dispatch block signals.
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }
}

extension sigaction {
    /// Whether the action is SIG_IGN.
    fileprivate var isIgnored: Bool {
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
