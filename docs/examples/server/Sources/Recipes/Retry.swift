// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NIOCore
public import NetlinkReachability

/// The limits of retries.
public struct RetryPolicy: Sendable {
    /// The largest number of attempts.
    public var attempts = 4
    /// The longest time to wait for reachability before each attempt.
    public var reachabilityTimeout = Duration.seconds(60)
    /// The pause before the second attempt, which doubles with each further attempt.
    public var firstPause = Duration.milliseconds(500)
    /// The timeout of one request.
    public var requestTimeout = TimeAmount.seconds(30)

    /// Creates the default limits.
    public init() {}
}

extension RetryPolicy {
    /// Performs an operation once the target is reachable, and retries if it throws.
    ///
    /// Without a network nothing is sent, and the retry happens when the target becomes reachable again, not when a
    /// timer fires. The pauses remain for a target that is reachable and does not answer.
    ///
    /// - Parameters:
    ///   - reachability: The target of the operation.
    ///   - clock: The clock of the pauses.
    ///   - operation: The operation. It must be safe to repeat.
    /// - Returns: The result of the first attempt that succeeds.
    /// - Throws: The error of the last attempt, `ReachabilityError` with the code `timedOut` if the target does not
    ///   become reachable, or `CancellationError`.
    public func callAsFunction<Result: Sendable>(
        whenReachable reachability: NetworkReachability,
        clock: any Clock<Duration> = ContinuousClock(),
        _ operation: () async throws -> Result
    ) async throws -> Result {
        var pause = firstPause
        var attempt = 1
        while true {
            try await reachability.waitUntilReachable(timeout: reachabilityTimeout)
            do {
                return try await operation()
            } catch  where attempt < attempts && !Task.isCancelled {
                attempt += 1
            }
            try await clock.sleep(for: pause)
            pause *= 2
        }
    }
}

extension HTTPClient {
    /// Executes a request once its host is reachable, and retries connection failures.
    ///
    /// Use it for requests that are safe to repeat, and whose body can be sent again: not with a body from a stream.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - reachability: The host of the request.
    ///   - policy: The limits of retries.
    /// - Returns: The response to the first attempt that gets one, with any status.
    /// - Throws: The error of the last attempt, or the errors of ``RetryPolicy``.
    public func execute(
        _ request: HTTPClientRequest,
        whenReachable reachability: NetworkReachability,
        retry policy: RetryPolicy = RetryPolicy()
    ) async throws -> HTTPClientResponse {
        try await policy(whenReachable: reachability) {
            try await self.execute(request, timeout: policy.requestTimeout)
        }
    }
}
