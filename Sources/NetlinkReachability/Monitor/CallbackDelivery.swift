// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Where a handler is called.
public enum CallbackDelivery: Sendable {
    /// On a dispatch queue.
    case queue(DispatchQueue)
    /// On the monitor's thread, right after the evaluation: no other thread has to wake.
    ///
    /// For handlers that only pass the value on: store it, write to a descriptor, signal a semaphore. All
    /// observations of a ``NetworkSource`` share the thread. While a handler runs, no other target is evaluated and no
    /// notification is read; after some time the kernel drops notifications, and everything is evaluated again.
    ///
    /// - The first call comes on that thread, too: it can come before or after the observation is returned.
    /// - A handler can begin, cancel and release observations. What it begins first calls its handler after this call
    ///   has returned, unless no other observation was left: a new thread begins then, while the old one can still
    ///   be in this call.
    /// - Synchronous queries work. For an address, they take microseconds; for a name, all observations wait for the
    ///   resolver.
    /// - It must not wait for what only the monitor can bring about: another handler, an element of
    ///   ``NetworkUpdates``, ``NetworkReachability/waitUntilReachable(timeout:)``. Such a wait never ends.
    /// - All signals are blocked on the thread.
    case onMonitorThread
}
