// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Whether the calling thread is inside of a handler of an observation.
enum HandlerScope {
    /// A value of each thread: the number of handlers that it is inside of.
    private static let depth: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        precondition(status == 0, "pthread_key_create failed with error \(status)")
        return key
    }()

    static var isInside: Bool { pthread_getspecific(depth) != nil }

    /// Calls a handler.
    static func run(_ handler: () -> Void) {
        let outer = pthread_getspecific(depth)
        pthread_setspecific(depth, UnsafeRawPointer(bitPattern: UInt(bitPattern: outer) + 1))
        handler()
        pthread_setspecific(depth, outer)
    }
}
