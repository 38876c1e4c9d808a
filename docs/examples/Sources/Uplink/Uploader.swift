// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Sends something as soon as there is a way, and again after a pause when that fails.
public struct Uploader: Sendable {
    private let reachability: NetworkReachability
    private let clock: any Clock<Duration>
    private let send: @Sendable () async throws -> Void

    /// Prepares an upload.
    public init(
        to host: String,
        source: NetworkSource? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        send: @escaping @Sendable () async throws -> Void
    ) throws {
        reachability = try NetworkReachability(host: host, source: source)
        self.clock = clock
        self.send = send
    }

    /// Sends.
    ///
    /// - Throws: `ReachabilityError` when there is no way for five minutes; the last failure to send after three.
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
