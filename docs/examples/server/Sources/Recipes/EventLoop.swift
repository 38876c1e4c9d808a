// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NetlinkReachability

extension NetworkReachability {
    /// Calls a handler on an event loop with the current flags, and then with every change and failure.
    ///
    /// The calls keep their order: one comes after the other, and an event loop runs its tasks in order. Keep the
    /// observation.
    ///
    /// - Parameters:
    ///   - eventLoop: The event loop. Calls after its shutdown are dropped.
    ///   - handler: The handler. It may use the state of channels on that event loop.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if the monitor cannot be started.
    public func observe(
        on eventLoop: any EventLoop,
        _ handler: @escaping @Sendable (Result<ReachabilityFlags, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<ReachabilityFlags> {
        try observe { result in
            eventLoop.execute { handler(result) }
        }
    }

    /// Waits until the target is reachable, without blocking the event loop.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait.
    ///   - eventLoop: The event loop of the result.
    /// - Returns: A future with the flags, or with the error of
    ///   ``NetworkReachability/waitUntilReachable(timeout:)``.
    public func whenReachable(
        timeout: Duration,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<ReachabilityFlags> {
        eventLoop.makeFutureWithTask {
            try await self.waitUntilReachable(timeout: timeout)
        }
    }
}
