// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite(.enabled(if: Sandbox.isAvailable, "no seccomp, or another processor"))
struct EpollSetTests {
    /// The wait returned at once and said nothing, so that the monitor's thread took a whole processor.
    @Test(arguments: [Sandbox.epollNumbers, Sandbox.epollNumbers + Sandbox.pollNumbers], [EPERM, ENOSYS])
    func `a wait that a sandbox refuses waits all the same`(calls: [UInt32], number: Int32) throws {
        let set = try EpollSet()
        let event = try EventFD()
        #expect(set.add(event.descriptor, as: 3))
        let (limit, wakeUps, isReady) = (1_000, Locked(0), Locked(false))
        try OwnThread.run(2) { thread in
            if thread == 0 {
                try? Sandbox.refusing(calls, with: number) {
                    while wakeUps.withLock({ $0 }) < limit, !isReady.withLock({ $0 }) {
                        let ready = set.wait(milliseconds: -1).contains(3)
                        isReady.withLock { $0 = ready }
                        if !ready { wakeUps.withLock { $0 += 1 } }
                    }
                }
            } else {
                // Time to wake up for nothing.
                for _ in 0..<200 where wakeUps.withLock({ $0 }) < limit { usleep(1_000) }
                event.signal()
            }
        }
        #expect(isReady.withLock { $0 } && wakeUps.withLock { $0 } < limit)
    }
}
