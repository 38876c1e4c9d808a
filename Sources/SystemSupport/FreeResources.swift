// SPDX-License-Identifier: Apache-2.0

package import Glibc

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

/// Waits for descriptors as poll(2) does, which looks at once and again where a sandbox refuses it: this pauses then.
///
/// - Parameters:
///   - entries: The descriptors.
///   - milliseconds: The longest time to wait; -1 for no limit.
/// - Returns: The number of descriptors that are ready; 0 after a time-out, a signal or a refusal.
package func waitForDescriptors(_ entries: inout [pollfd], milliseconds: Int32) -> Int {
    let count = poll(&entries, nfds_t(entries.count), milliseconds)
    if count < 0, errno != EINTR {
        for index in entries.indices { entries[index].revents = 0 }
        usleep(100_000)
    }
    return Int(max(count, 0))
}
