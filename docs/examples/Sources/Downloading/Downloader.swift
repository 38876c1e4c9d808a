// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import NetlinkReachability

/// Downloads a URL: waits for a connection, and retries after temporary failures.
///
/// FoundationNetworking cannot set `waitsForConnectivity`. This type waits for reachability, with a timeout.
public struct Downloader: Sendable {
    /// The timeout and the limits of retries.
    public struct Patience: Sendable {
        /// The time to wait for a connection before each attempt.
        public var connection = Duration.seconds(60)
        /// The largest number of attempts.
        public var attempts = 4
        /// The pause before the second attempt, which doubles with each further attempt.
        public var firstPause = Duration.seconds(1)

        /// Creates the default limits.
        public init() {}
    }

    private let transport: any Transport
    private let source: NetworkSource
    private let clock: any Clock<Duration>
    private let patience: Patience

    /// Creates a downloader.
    ///
    /// - Parameters:
    ///   - patience: The timeout and the limits of retries.
    ///   - transport: The transport that performs one attempt.
    ///   - source: The source of facts about the network.
    ///   - clock: The clock of the pauses.
    public init(
        patience: Patience = Patience(),
        transport: any Transport = URLSessionTransport(),
        source: NetworkSource = .kernel,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.patience, self.transport, self.source, self.clock) = (patience, transport, source, clock)
    }

    /// Downloads a URL.
    ///
    /// - Parameter url: An HTTP URL.
    /// - Returns: The body that the server sent.
    /// - Throws: ``DownloadError``.
    public func download(_ url: URL) async throws(DownloadError) -> Data {
        guard let host = url.host, let reachability = try? NetworkReachability(host: host, source: source)
        else {
            throw .invalidURL(url.absoluteString)
        }
        var pause = patience.firstPause
        var attempt = 1
        while true {
            try await wait(for: reachability, host)
            do {
                return try await transport.data(from: url)
            } catch {
                guard error.isTemporary, attempt < patience.attempts else {
                    throw .failed(error, attempts: attempt)
                }
            }
            attempt += 1
            try await rest(pause)
            pause *= 2
        }
    }

    private func wait(for reachability: NetworkReachability, _ host: String) async throws(DownloadError) {
        do {
            try await reachability.waitUntilReachable(timeout: patience.connection)
        } catch let error as ReachabilityError where error.code == .timedOut {
            throw .offline(host: host)
        } catch let error as ReachabilityError {
            throw .unknownNetwork(error)
        } catch {
            throw .cancelled
        }
    }

    private func rest(_ pause: Duration) async throws(DownloadError) {
        do {
            try await clock.sleep(for: pause)
        } catch {
            throw .cancelled
        }
    }
}
