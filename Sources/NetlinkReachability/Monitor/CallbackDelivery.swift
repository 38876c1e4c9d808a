// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Where a handler is called.
public enum CallbackDelivery: Sendable {
    /// On a queue of this start's own, which exists only while a call is due.
    ///
    /// A handler that is replaced or stopped can still be running when the first call of the next one comes, as on a
    /// concurrent queue: use a serial queue of the program where that matters.
    case ownQueue
    /// On a dispatch queue.
    case queue(DispatchQueue)
    /// On the monitor's thread, right after the evaluation: no other thread has to wake.
    ///
    /// For handlers that only pass the value on: store it, write to a descriptor, signal a semaphore. All handles
    /// of a ``NetworkSource`` share the thread. While a handler runs, no other target is evaluated and no
    /// notification is read; after some time the kernel drops notifications, and everything is evaluated again.
    ///
    /// - The first call comes on that thread, too: it can come before or after the start returns.
    /// - A handler can start, stop and release this and other handles, and read ``NetworkReachability/currentFlags``.
    ///   What it starts first calls its handler after this call has returned, unless no other handle was left: a new
    ///   thread begins then, while the old one can still be in this call.
    /// - Synchronous queries work. For an address, they take microseconds; for a name, all handles wait for the
    ///   resolver.
    /// - It must not wait for what only the monitor can bring about: another handler, an element of
    ///   ``NetworkReachability/updates``, ``NetworkReachability/waitUntilReachable(timeout:)``. Such a wait never ends.
    /// - All signals are blocked on the thread.
    case onMonitorThread
}
