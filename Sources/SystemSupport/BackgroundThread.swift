// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Detached threads that run one closure each.
package enum BackgroundThread {
    /// Starts a thread, which blocks all signals and releases its resources when it ends.
    ///
    /// - Parameters:
    ///   - name: The name that `ps -L` and debuggers show; it is truncated to 15 bytes.
    ///   - body: The closure.
    /// - Returns: Whether the thread was started.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))

        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let context = Unmanaged.passRetained(
            KeptCall {
                name.withCString(csys_thread_name)
                body()
            })
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<KeptCall>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        if status != 0 { context.release() }
        return status == 0
    }
}

/// A closure that C keeps a pointer to.
package final class KeptCall: Sendable {
    package let run: @Sendable () -> Void

    package init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

// MARK: - Free resources

/// What a process must have left before it uses libdispatch for the first time.
///
/// libdispatch opens an epoll instance, an eventfd and a timer when it needs them, and ends the process where it
/// cannot. For a thread that cannot be started it waits for ever.
package enum FreeResources {
    /// The threads that libdispatch needs for a queue: its manager's, and one for the blocks.
    package static let dispatchThreads = 2
    /// The descriptors that libdispatch needs for a timer.
    package static let dispatchDescriptors = 4

    /// Opens so many descriptors, and closes them.
    package static func checkDescriptors(_ count: Int) throws(SystemCallError) {
        let descriptors = try (0..<count).map { _ throws(SystemCallError) in try EventFD() }
        withExtendedLifetime(descriptors) {}
    }

    /// The memory that the program needs beside its threads: Swift ends a process that cannot allocate.
    private static let spareMemory = 16 << 20

    /// Reserves memory for so many threads and the program beside them, and starts them.
    ///
    /// They exist at the same time and end at once. The memory comes first and is given back before: threads that
    /// fill the memory would have none to start with.
    package static func checkThreads(_ count: Int) throws(SystemCallError) {
        var attributes = pthread_attr_t()
        var stack = 0
        pthread_attr_init(&attributes)
        pthread_attr_getstacksize(&attributes, &stack)
        pthread_attr_destroy(&attributes)
        let size = count * stack + spareMemory
        guard let memory = mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw SystemCallError(operation: "reserve memory for threads", number: ENOMEM) }
        munmap(memory, size)
        let gate = Locked(())
        let areStarted = gate.withLock { _ in
            (0..<count).allSatisfy { _ in BackgroundThread.start("check") { gate.withLock { _ in } } }
        }
        guard areStarted else { throw SystemCallError(operation: "start a thread", number: EAGAIN) }
    }
}
