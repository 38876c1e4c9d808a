// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// A value that is protected by a lock.
///
/// The lock is a pthread mutex and not `Synchronization.Mutex`, whose interface this type follows. The thread sanitizer
/// does not see the other one on Linux and reports every use of the value as a race.
///
/// The lock is not recursive: a thread that takes it twice deadlocks.
///
/// This type is `Sendable` for the following reasons. `mutex` and `value` are in memory that lives as long as this
/// object and never moves. Only the two functions below use `value`, and only between locking and unlocking the mutex,
/// which also orders one use before the next. The initial value is sent, and so are the closures' results, which the
/// compiler checks as for `Mutex`.
///
/// It is usable from inline code: otherwise other modules inline none of its functions, and each closure is a call
/// through memory, with its types looked up at run time.
@usableFromInline
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    /// One allocation for both: there are many handles, and each has several locks.
    @usableFromInline let memory: UnsafeMutableRawPointer

    @inlinable var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        memory.assumingMemoryBound(to: pthread_mutex_t.self)
    }

    @inlinable var value: UnsafeMutablePointer<Value> {
        (memory + Self.valueOffset).assumingMemoryBound(to: Value.self)
    }

    /// The offset of the value: the first one behind the mutex that its alignment allows.
    @inlinable static var valueOffset: Int {
        let alignment = MemoryLayout<Value>.alignment
        return (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
    }

    /// Protects a value.
    package init(_ value: consuming sending Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<pthread_mutex_t>.alignment)
        memory = .allocate(byteCount: Self.valueOffset + MemoryLayout<Value>.size, alignment: alignment)
        memory.bindMemory(to: pthread_mutex_t.self, capacity: 1).initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with error \(status)")
        (memory + Self.valueOffset).bindMemory(to: Value.self, capacity: 1).initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        memory.deallocate()
    }

    /// Waits for the lock, and calls a closure with the value.
    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Calls a closure with the value if the lock is free; returns `nil` otherwise.
    @inlinable
    package func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
