// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A value that one thread at a time can use.
///
/// The lock is a pthread mutex and not `Synchronization.Mutex`, which it takes after: the thread sanitizer knows
/// this one. It cannot see into the other on Linux and reports every use of the value as a race, so that a real
/// one would drown.
///
/// Not recursive: a thread that takes the lock twice waits for itself.
///
/// Sendable, and this is the proof: `mutex` and `value` lie in memory of their own that lives as long as this
/// object and never moves. `value` is reached only through the two functions below, and only between taking and
/// releasing the mutex, which also orders one use before the next. What goes in at the start is sent, and what
/// comes out is the result of a closure, which the compiler checks as for `Mutex`.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    /// One piece for both: handles are many, and each has several of these.
    private let memory: UnsafeMutableRawPointer

    private var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        memory.assumingMemoryBound(to: pthread_mutex_t.self)
    }

    private var value: UnsafeMutablePointer<Value> {
        (memory + Self.valueOffset).assumingMemoryBound(to: Value.self)
    }

    /// Where the value lies: the next place behind the mutex that its alignment allows.
    private static var valueOffset: Int {
        let alignment = MemoryLayout<Value>.alignment
        return (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
    }

    /// Puts a value behind a lock.
    package init(_ value: consuming sending Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<pthread_mutex_t>.alignment)
        memory = .allocate(byteCount: Self.valueOffset + MemoryLayout<Value>.size, alignment: alignment)
        memory.bindMemory(to: pthread_mutex_t.self, capacity: 1).initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "a mutex could not be made: error \(status)")
        (memory + Self.valueOffset).bindMemory(to: Value.self, capacity: 1).initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        memory.deallocate()
    }

    /// Uses the value once it is free.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Uses the value if it is free now; `nil` when it is not.
    package func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
