// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// A value that is protected by a lock.
///
/// The interface is that of `Synchronization.Mutex`, but the lock is a pthread mutex. On Linux, the thread sanitizer
/// does not see the locking of `Mutex`, and reports every use of the value as a race.
///
/// The lock is not recursive: a thread that takes it twice deadlocks.
///
/// Copies share the lock and the value.
///
/// This type is `Sendable` for the following reasons. The mutex and the value are in the memory of one object, which
/// never moves and lives as long as any copy. Only the two functions below use the value, and only while they hold the
/// mutex, which also orders one use before the next. The initial value and the results of closures are `sending`, which
/// the compiler checks as for `Mutex`.
///
/// The functions are inlinable: otherwise each closure in another module would be an indirect call, with its generic
/// types looked up at run time.
@usableFromInline
package struct Locked<Value: ~Copyable>: @unchecked Sendable {
    /// One allocation for the mutex and the value: there are many handles, and each has several locks.
    @usableFromInline
    final class Memory: ManagedBuffer<pthread_mutex_t, Value> {
        deinit {
            withUnsafeMutablePointers { mutex, value in
                _ = value.deinitialize(count: 1)
                pthread_mutex_destroy(mutex)
            }
        }
    }

    @usableFromInline let memory: ManagedBuffer<pthread_mutex_t, Value>

    /// Protects a value.
    package init(_ value: consuming sending Value) {
        memory = Memory.create(minimumCapacity: 1) { _ in pthread_mutex_t() }
        let (mutex, place) = memory.withUnsafeMutablePointers { ($0, $1) }
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with error \(status)")
        place.initialize(to: value)
    }

    /// Takes the lock, and calls a closure with the value.
    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let (mutex, value) = memory.withUnsafeMutablePointers { ($0, $1) }
        pthread_mutex_lock(mutex)
        // The pointers do not keep the object alive.
        defer { withExtendedLifetime(memory) { _ = pthread_mutex_unlock(mutex) } }
        return try body(&value.pointee)
    }

    /// Calls a closure with the value if the lock is free; returns `nil` otherwise.
    @inlinable
    package func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        let (mutex, value) = memory.withUnsafeMutablePointers { ($0, $1) }
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { withExtendedLifetime(memory) { _ = pthread_mutex_unlock(mutex) } }
        return try body(&value.pointee)
    }
}
