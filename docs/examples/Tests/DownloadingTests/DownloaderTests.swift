// SPDX-License-Identifier: Apache-2.0

import Downloading
import Foundation
import NetlinkReachability
import NetlinkReachabilityTestKit
import Synchronization
import Testing

@Suite
struct DownloaderTests {
    private let document = Data("hello".utf8)
    private let url = URL(string: "http://192.0.2.80/document")

    /// Starts a download in a simulated network.
    private func start(_ network: SimulatedNetwork, _ transport: any Transport) throws -> Task<
        Data, any Error
    > {
        let url = try #require(url)
        let downloader = Downloader(transport: transport, source: network.source, clock: network.clock)
        return Task { try await downloader.download(url) }
    }

    @Test("with a connection the download starts at once")
    func connected() async throws {
        let transport = ScriptedTransport([.success(document)])
        let data = try await start(SimulatedNetwork(.wifi), transport).value
        #expect(data == document)
        #expect(transport.attempts == 1)
    }

    @Test("without a connection nothing is sent until there is one")
    func waits() async throws {
        let network = SimulatedNetwork(.offline)
        let transport = ScriptedTransport([.success(document)])
        let download = try start(network, transport)
        try await network.settle { network.listenerCount > 0 }
        #expect(transport.attempts == 0)
        network.apply(.wired)
        try await network.advance(by: .milliseconds(250))
        #expect(try await download.value == document)
    }

    @Test("an offline network is an error of its own")
    func offline() async throws {
        let network = SimulatedNetwork(.offline)
        let transport = ScriptedTransport([])
        let download = try start(network, transport)
        try await network.settle { network.listenerCount > 0 }
        try await network.advance(by: .seconds(61))
        let error = await #expect(throws: DownloadError.self) { try await download.value }
        guard case .offline(host: "192.0.2.80") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(transport.attempts == 0)
    }

    @Test("a temporary failure is retried, with a pause that doubles")
    func backsOff() async throws {
        let network = SimulatedNetwork(.wired)
        let transport = ScriptedTransport([
            .failure(.status(503)), .failure(.connection("reset")), .success(document),
        ])
        let download = try start(network, transport)
        for (attempt, pause) in [(1, 1), (2, 2)] {
            try await network.settle { transport.attempts == attempt && network.clock.sleeperCount == 1 }
            network.clock.advance(by: .seconds(pause))
        }
        #expect(try await download.value == document)
        #expect(transport.attempts == 3)
    }

    @Test("a permanent failure is not retried")
    func refused() async throws {
        let transport = ScriptedTransport([.failure(.status(404))])
        let download = try start(SimulatedNetwork(.wired), transport)
        let error = await #expect(throws: DownloadError.self) { try await download.value }
        guard case .failed(.status(404), attempts: 1) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a cancelled download throws the error for cancellation")
    func cancelled() async throws {
        let network = SimulatedNetwork(.offline)
        let download = try start(network, ScriptedTransport([]))
        try await network.settle { network.listenerCount > 0 }
        download.cancel()
        let error = await #expect(throws: DownloadError.self) { try await download.value }
        guard case .cancelled = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("URLSession downloads from a server on this host")
    func realServer() async throws {
        let server = try OneShotServer("hello")
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        #expect(try await Downloader().download(url) == document)
    }
}

/// A transport that answers each attempt with the next result of a script.
private final class ScriptedTransport: Transport {
    private let state: Mutex<(script: [Result<Data, TransportError>], attempts: Int)>

    init(_ script: [Result<Data, TransportError>]) {
        state = Mutex((script, 0))
    }

    var attempts: Int { state.withLock { $0.attempts } }

    func data(from url: URL) async throws(TransportError) -> Data {
        let next = state.withLock { state in
            state.attempts += 1
            return state.script.isEmpty
                ? .failure(.connection("the script is over")) : state.script.removeFirst()
        }
        return try next.get()
    }
}
