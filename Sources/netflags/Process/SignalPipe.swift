// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Synchronization

/// SIGINT and SIGTERM as a descriptor that becomes readable.
///
/// A signal handler writes the signal's number into a pipe. The second signal ends the process: each handler
/// is used once.
struct SignalPipe {
    /// Readable once a signal has come.
    let descriptor: Int32

    /// The write end.
    ///
    /// A signal handler may only use lock-free atomics and functions that are safe in handlers, such as write(2).
    private static let writeEnd = Atomic<Int32>(-1)

    /// Installs the handlers.
    init() throws(ReachabilityError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw ReachabilityError(.systemFailure, operation: "open a pipe", number: errno)
        }
        descriptor = ends[0]
        Self.writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        var handled = sigset_t()
        sigemptyset(&handled)
        for number in [SIGINT, SIGTERM] {
            sigaddset(&handled, number)
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                let saved = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(SignalPipe.writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = saved
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            guard sigaction(number, &action, nil) == 0 else {
                throw ReachabilityError(
                    .systemFailure, operation: "handle the signal \(number)", number: errno)
            }
        }
        // A child inherits the signal mask of its parent, and threads of Dispatch block signals.
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }

    /// Ends the process by the signal that came, so that a shell sees an interrupted command and ends its loop.
    ///
    /// Returns when no signal has come.
    func raiseReceived() {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var number: UInt8 = 0
        guard poll(&waiting, 1, 0) > 0, read(descriptor, &number, 1) == 1 else { return }
        signal(Int32(number), SIG_DFL)
        raise(Int32(number))
    }
}
