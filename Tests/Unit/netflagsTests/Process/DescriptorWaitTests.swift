// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite(.enabled(if: Sandbox.isAvailable, "no seccomp, or another processor"))
struct DescriptorWaitTests {
    /// The wait returned at once and said nothing, so that the monitor's thread took a whole processor.
    @Test(arguments: [EPERM, ENOSYS])
    func `a wait that a sandbox refuses pauses, and says so`(number: Int32) throws {
        let (limit, wakeUps, isEnding) = (1_000, Locked(0), Locked(false))
        try OwnThread.run(2) { thread in
            if thread == 0 {
                try? Sandbox.refusing(Sandbox.pollNumbers, with: number) {
                    while wakeUps.withLock({ $0 }) < limit, !isEnding.withLock({ $0 }) {
                        var entries = [pollfd(fd: -1, events: Int16(POLLIN), revents: 0)]
                        #expect(waitForDescriptors(&entries, milliseconds: -1) == -1)
                        wakeUps.withLock { $0 += 1 }
                    }
                }
            } else {
                // Time to wake up for nothing.
                for _ in 0..<200 where wakeUps.withLock({ $0 }) < limit { usleep(1_000) }
                isEnding.withLock { $0 = true }
            }
        }
        #expect((1..<limit).contains(wakeUps.withLock { $0 }))
    }
}
