// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Threads of a test's own, for what belongs to a thread, and for more threads than Dispatch starts.
package enum OwnThread {
    private struct Refusal: Error {
        let number: Int32
    }

    private final class Work {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    /// Runs a body on a new thread, and waits for it.
    package static func run<Value>(_ body: () throws -> Value) throws -> Value {
        var outcome: Result<Value, any Error> = .failure(Refusal(number: 0))
        try withoutActuallyEscaping(body) { body in
            let thread = try start { outcome = Result(catching: body) }
            pthread_join(thread, nil)
        }
        return try outcome.get()
    }

    /// Runs a body on so many threads at once, with the number of each, and waits for them.
    package static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
        let threads = try (0..<count).map { number in try start { body(number) } }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Runs a body on a new thread, and does not wait for it.
    static func detach(_ body: @escaping @Sendable () -> Void) throws {
        pthread_detach(try start(body))
    }

    private static func start(_ body: @escaping () -> Void) throws -> pthread_t {
        let context = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw Refusal(number: status)
        }
        return thread
    }
}
