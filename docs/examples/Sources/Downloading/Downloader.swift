// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import NetlinkReachability

/// Downloads what a URL names: waits for a connection first, and tries again where that can help.
///
/// In FoundationNetworking `waitsForConnectivity` cannot be set; this waits, and has an end to it.
public struct Downloader: Sendable {
    /// How long it waits, and how often it tries.
    public struct Patience: Sendable {
        /// How long to wait for a connection before each attempt.
        public var connection = Duration.seconds(60)
        /// How often to try at the most.
        public var attempts = 4
        /// The pause before the second attempt; each further one is twice as long.
        public var firstPause = Duration.seconds(1)

        /// The usual patience.
        public init() {}
    }

    private let transport: any Transport
    private let source: NetworkSource?
    private let clock: any Clock<Duration>
    private let patience: Patience

    /// Makes a downloader.
    ///
    /// - Parameters:
    ///   - patience: How long it waits, and how often it tries.
    ///   - transport: What carries the bytes.
    ///   - source: Where the network is; `nil` for this host's.
    ///   - clock: What it pauses by.
    public init(
        patience: Patience = Patience(),
        transport: any Transport = URLSessionTransport(),
        source: NetworkSource? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.patience, self.transport, self.source, self.clock) = (patience, transport, source, clock)
    }

    /// Downloads.
    ///
    /// - Parameter url: An HTTP URL.
    /// - Returns: What the server sent.
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
