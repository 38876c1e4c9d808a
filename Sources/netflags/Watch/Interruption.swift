// SPDX-License-Identifier: Apache-2.0

import Glibc
import RoutingModel
import Synchronization

/// SIGINT and SIGTERM as a descriptor that can be waited on: a pipe that the signal's handler writes into.
///
/// The second signal ends the process as usual, should it be stuck.
struct Interruption {
    /// Can be read once a signal has come.
    let descriptor: Int32

    /// The end to write into.
    ///
    /// A handler may touch nothing but a lock-free atomic and write(2).
    private static let writingEnd = Atomic<Int32>(-1)

    /// Takes both signals over, for as long as the process lives.
    init() throws(RoutingFault) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw RoutingFault(operation: "open a pipe", number: errno)
        }
        descriptor = ends[0]
        Self.writingEnd.store(ends[1], ordering: .sequentiallyConsistent)
        // A parent that holds signals back, as Dispatch's threads do, hands that down.
        var taken = sigset_t()
        sigemptyset(&taken)
        for number in [SIGINT, SIGTERM] {
            sigaddset(&taken, number)
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in
                let saved = errno
                var byte: UInt8 = 0
                _ = write(Interruption.writingEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = saved
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            guard sigaction(number, &action, nil) == 0 else {
                throw RoutingFault(operation: "take over the signal \(number)", number: errno)
            }
        }
        pthread_sigmask(SIG_UNBLOCK, &taken, nil)
    }
}
