// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Threads for tests that wait for the kernel or for a program.
///
/// The tasks of a process share one thread per processor. A test that waits without suspending blocks such a thread for
/// the other tests, while nothing runs.
package final class WaitingThreads: TaskExecutor {
    /// For all tests of a process.
    package static let shared = WaitingThreads(count: 4)

    private let count: Int
    private let state = Locked<(threads: Int, jobs: [UnownedJob])>((0, []))

    private init(count: Int) {
        self.count = count
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.threads < count else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        do {
            try OwnThread.detach { self.work() }
        } catch {
            preconditionFailure("no thread for a test: \(error)")
        }
    }

    /// Runs jobs in their order until none is left.
    private func work() {
        while true {
            let job: UnownedJob? = state.withLock { state in
                guard state.jobs.isEmpty else { return state.jobs.removeFirst() }
                state.threads -= 1
                return nil
            }
            guard let job else { return }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
