// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc

/// New threads for a test that changes the state of a thread, or needs more threads than Dispatch starts.
package enum OwnThread {
    private struct Refusal: Error, CustomStringConvertible {
        let description = "cannot start a thread"
    }

    private final class Work {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    /// Runs a body on a new thread, and waits for it.
    ///
    /// Failed expectations in the body count for the running test: the task has the task-local values of its caller.
    package static func run<Value>(_ body: () throws -> Value) throws -> Value {
        let executor = Executor()
        nonisolated(unsafe) var outcome: Result<Value, any Error> = .failure(Refusal())
        withoutActuallyEscaping(body) { body in
            nonisolated(unsafe) let body = body
            Task(executorPreference: executor) {
                if executor.hasStarted { outcome = Result(catching: body) }
            }
            executor.end.wait()
        }
        return try outcome.get()
    }

    /// Runs one task, which does not suspend, on a new thread.
    private final class Executor: TaskExecutor {
        // Written by the thread that makes the task, and only if no new thread exists that could read it.
        private(set) nonisolated(unsafe) var hasStarted = true
        let end = DispatchSemaphore(value: 0)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            do {
                try OwnThread.detach { self.run(job) }
            } catch {
                hasStarted = false
                run(job)
            }
        }

        private func run(_ job: UnownedJob) {
            job.runSynchronously(on: asUnownedTaskExecutor())
            end.signal()
        }
    }

    /// Runs a body on several threads at once, each with its number, and waits for all threads.
    package static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
        let threads = try (0..<count).map { number in try start { body(number) } }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Runs a body on a new thread without waiting for the end.
    static func detach(_ body: @escaping @Sendable () -> Void) throws {
        pthread_detach(try start(body))
    }

    private static func start(_ body: @escaping () -> Void) throws -> pthread_t {
        let context = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                // Threads of Dispatch block signals, and programs inherit the blocked signals.
                var none = sigset_t()
                sigemptyset(&none)
                pthread_sigmask(SIG_SETMASK, &none, nil)
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw Refusal()
        }
        return thread
    }
}
