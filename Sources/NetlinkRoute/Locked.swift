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
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    /// Puts a value behind a lock.
    package init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "a mutex could not be made: error \(status)")
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        mutex.deallocate()
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
