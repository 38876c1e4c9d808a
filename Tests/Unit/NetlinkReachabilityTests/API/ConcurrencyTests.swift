// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import SystemSupport
import TestSupport
import Testing

/// The live kernel, asked about loopback by many threads at once.
struct ConcurrencyTests {
    /// Counts answers that are wrong or missing, asked for by real threads.
    private func wrongAnswers(threads: Int, _ ask: @escaping @Sendable (Int) throws -> Bool) throws -> Int {
        let wrong = Locked(0)
        try OwnThread.run(threads) { thread in
            for _ in 0..<50 where (try? ask(thread)) != true { wrong.withLock { $0 += 1 } }
        }
        return wrong.withLock { $0 }
    }

    @Test func `forty threads ask one handle at once`() throws {
        let handle = try NetworkReachability(host: "127.0.0.1")
        #expect(try wrongAnswers(threads: 40) { _ in try handle.blockingFlags() == own } == 0)
    }

    @Test func `forty threads ask handles of their own at once`() throws {
        let wrong = try wrongAnswers(threads: 40) { thread in
            let handle = NetworkReachability(address: IPAddress(127, 0, UInt8(thread), 1))
            return try handle.blockingFlags() == own
        }
        #expect(wrong == 0)
    }

    @Test func `forty threads ask for reports at once`() throws {
        let handle = try NetworkReachability(
            target: .pair(local: .loopbackV4, remote: IPAddress(127, 0, 0, 2)))
        let wrong = try wrongAnswers(threads: 40) { _ in
            let report = try handle.blockingReport()
            return report.flags == own && report.interface?.name == "lo"
                && report.sourceAddress == .loopbackV4
        }
        #expect(wrong == 0)
    }

    /// All but a few failed: they could not open a further socket.
    @Test(.needsNetwork) func `forty threads elsewhere ask about a namespace at once`() throws {
        let network = try LiveNetwork()
        let source = try network.run { try NetworkSource.currentNamespace() }
        let handle = NetworkReachability(target: .address(.loopbackV4), source: source)
        #expect(try wrongAnswers(threads: 40) { _ in try handle.blockingFlags() == own } == 0)
    }

    @Test func `several sources serve threads at once`() throws {
        let sources = try (0..<8).map { _ in try NetworkSource.currentNamespace() }
        let wrong = try wrongAnswers(threads: 40) { thread in
            let handle = NetworkReachability(target: .address(.loopbackV4), source: sources[thread % 8])
            return try handle.blockingFlags() == own
        }
        #expect(wrong == 0)
    }
}
