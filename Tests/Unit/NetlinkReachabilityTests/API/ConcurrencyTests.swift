// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel
import Synchronization
import Testing

/// The live kernel, asked about loopback by many threads at once.
struct ConcurrencyTests {
    /// Counts answers that are wrong or missing, asked for by real threads.
    private func wrongAnswers(threads: Int, _ ask: @escaping @Sendable (Int) throws -> Bool) -> Int {
        let wrong = Mutex(0)
        let group = DispatchGroup()
        for thread in 0..<threads {
            group.enter()
            let work = Work {
                for _ in 0..<50 where (try? ask(thread)) != true { wrong.withLock { $0 += 1 } }
                group.leave()
            }
            guard !work.start() else { continue }
            wrong.withLock { $0 += 1 }
            group.leave()
        }
        group.wait()
        return wrong.withLock { $0 }
    }

    /// Work for a thread of its own: a queue would share a few among all.
    private final class Work: Sendable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }

        func start() -> Bool {
            let context = Unmanaged.passRetained(self)
            var thread = pthread_t()
            let status = pthread_create(
                &thread,
                nil,
                { context in
                    guard let context else { return nil }
                    Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                    return nil
                },
                context.toOpaque()
            )
            guard status == 0 else {
                context.release()
                return false
            }
            return pthread_detach(thread) == 0
        }
    }

    @Test func `forty threads ask one handle at once`() throws {
        let handle = try NetworkReachability(host: "127.0.0.1")
        #expect(wrongAnswers(threads: 40) { _ in try handle.flags() == own } == 0)
    }

    @Test func `forty threads ask handles of their own at once`() {
        let wrong = wrongAnswers(threads: 40) { thread in
            let handle = try NetworkReachability(address: IPAddress(127, 0, UInt8(thread), 1))
            return try handle.flags() == own
        }
        #expect(wrong == 0)
    }

    @Test func `forty threads ask for reports at once`() throws {
        let handle = try NetworkReachability(local: .loopbackV4, remote: IPAddress(127, 0, 0, 2))
        let wrong = wrongAnswers(threads: 40) { _ in
            let report = try handle.report()
            return report.flags == own && report.interface?.name == "lo"
                && report.sourceAddress == .loopbackV4
        }
        #expect(wrong == 0)
    }

    @Test func `several sources serve threads at once`() throws {
        let sources = try (0..<8).map { _ in try NetworkSource.currentNamespace() }
        let wrong = wrongAnswers(threads: 40) { thread in
            let handle = try NetworkReachability(target: .address(.loopbackV4), source: sources[thread % 8])
            return try handle.flags() == own
        }
        #expect(wrong == 0)
    }
}
