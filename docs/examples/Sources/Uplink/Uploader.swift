// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Sends data once the host is reachable, and retries after a pause.
public struct Uploader: Sendable {
    private let reachability: NetworkReachability
    private let clock: any Clock<Duration>
    private let send: @Sendable () async throws -> Void

    /// Creates an uploader.
    public init(
        to host: String,
        source: NetworkSource = .kernel,
        clock: any Clock<Duration> = ContinuousClock(),
        send: @escaping @Sendable () async throws -> Void
    ) throws {
        reachability = try NetworkReachability(host: host, source: source)
        self.clock = clock
        self.send = send
    }

    /// Sends, with up to three attempts.
    ///
    /// - Throws: `ReachabilityError` if the host is not reachable for five minutes, or the error of the last attempt.
    public func upload() async throws {
        for attempt in 1...3 {
            try await reachability.waitUntilReachable(timeout: .seconds(300))
            do {
                return try await send()
            } catch  where attempt < 3 {
                try await clock.sleep(for: .seconds(10 * attempt))
            }
        }
    }
}
