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
            Work {
                name.withCString(csys_thread_name)
                body()
            })
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        if status != 0 { context.release() }
        return status == 0
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
