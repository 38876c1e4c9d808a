// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Detached threads that run one closure each.
package enum BackgroundThread {
    /// Starts a thread that blocks all signals, and releases its resources when it ends.
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

/// A closure in an object, to which C code keeps a pointer.
package final class KeptCall: Sendable {
    package let run: @Sendable () -> Void

    package init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

// MARK: - Free resources

/// The resources that a process needs before it uses libdispatch for the first time.
///
/// libdispatch opens an epoll instance, an eventfd and a timer on demand, and ends the process if it cannot. If it
/// cannot start a thread, it waits forever.
package enum FreeResources {
    /// The threads that libdispatch needs for a queue: its manager thread, and a thread for the blocks.
    package static let dispatchThreads = 2
    /// The descriptors that libdispatch needs for a timer.
    package static let dispatchDescriptors = 4

    /// Throws unless the process can open this many descriptors.
    package static func checkDescriptors(_ count: Int) throws(SystemCallError) {
        let descriptors = try (0..<count).map { _ throws(SystemCallError) in try EventFD() }
        withExtendedLifetime(descriptors) {}
    }

    /// The memory that the program needs besides its threads: Swift ends a process that cannot allocate memory.
    private static let spareMemory = 16 << 20

    /// Throws unless there is memory for this many threads and the program, and the threads can start.
    ///
    /// The threads exist at the same time and end at once. The memory is reserved and released before they start, so
    /// that they do not use it up themselves.
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
