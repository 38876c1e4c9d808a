// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import RoutingModel
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkReachability

/// The asynchronous forms of queries, and resolvers of the program's own.
struct AsyncQueryTests {
    /// A resolver that returns when it is released.
    private final class HangingResolver: Sendable {
        private let release = DispatchSemaphore(value: 0)
        private let calls = Locked((begun: 0, running: 0, mostAtOnce: 0))
        private let entered: AsyncStream<Int>
        private let continuation: AsyncStream<Int>.Continuation

        init() {
            (entered, continuation) = AsyncStream.makeStream()
        }

        var callCount: Int { calls.withLock { $0.begun } }
        var mostAtOnce: Int { calls.withLock { $0.mostAtOnce } }

        /// The resolver that a source takes.
        var blocking: BlockingResolver { BlockingResolver { [self] _, _, _ in resolve() } }

        private func resolve() -> ReachabilityTarget.Resolution {
            continuation.yield(
                calls.withLock {
                    $0.begun += 1
                    $0.running += 1
                    $0.mostAtOnce = max($0.mostAtOnce, $0.running)
                    return $0.begun
                })
            release.wait()
            calls.withLock { $0.running -= 1 }
            return .addresses([remote])
        }

        /// Returns when so many calls have begun.
        func waitForCalls(_ count: Int) async {
            for await number in entered where number == count { return }
        }

        func releaseCalls(_ count: Int) {
            for _ in 0..<count { release.signal() }
        }
    }

    /// A resolver that a closure answers for.
    private struct ClosureResolver: NameResolver {
        let answer: @Sendable (String) throws -> ReachabilityTarget.Resolution

        func resolve(
            _ name: String,
            families: ReachabilityOptions.Families,
            timeout: Duration
        ) async throws -> ReachabilityTarget.Resolution {
            try answer(name)
        }
    }

    private struct RegistryIsDown: Error, CustomStringConvertible {
        let description = "the registry is down"
    }

    private var network: ScriptedRouting {
        ScriptedRouting(
            .init(answers: [remote: [.route(.via(2, gateway: gateway))]], interfaces: [.eth0])
        )
    }

    private func source(_ resolver: some NameResolver) -> NetworkSource {
        NetworkSource(routing: network, resolver: ScriptedResolver([:])).resolving(with: resolver)
    }

    /// The options of queries that wait for the resolver, however slow the machine is.
    private var patient: ReachabilityOptions {
        var options = ReachabilityOptions()
        options.resolution.timeout = .seconds(3_600)
        return options
    }

    private func handle(_ host: String, _ resolver: some NameResolver) throws -> NetworkReachability {
        try NetworkReachability(host: host, options: patient, source: source(resolver))
    }

    // MARK: Asynchronous forms

    @Test(arguments: ["198.51.100.7", "host.example"])
    func `the asynchronous forms answer as the synchronous ones`(text: String) async throws {
        let handle = try handle(text, ClosureResolver { _ in .addresses([remote]) })
        let (flags, report) = try { (try handle.blockingFlags(), try handle.blockingReport(.brief)) }()
        #expect(try await handle.flags() == flags)
        #expect(try await handle.report(.brief) == report)
        #expect(flags == .reachable)
    }

    /// Each query had a thread of its own: 20,000 tasks had 11,000.
    @Test(.timeLimit(.minutes(10))) func `any number of queries about names takes 64 threads`() async throws {
        let hanging = HangingResolver()
        let resolver = hanging.blocking
        let handle = try handle("host.example", resolver)
        let count = 512
        let flags = try await withThrowingTaskGroup(of: ReachabilityFlags.self) { group in
            for _ in 0..<count { group.addTask { try await handle.flags() } }
            // All tasks have asked, so none holds a thread of the concurrency runtime while it waits.
            try await eventually("all but 64 queries wait") {
                resolver.threads.waitingCount == count - LookupThreads.limit
            }
            #expect(resolver.threads.runningCount == LookupThreads.limit)
            hanging.releaseCalls(count)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(flags == Array(repeating: .reachable, count: count))
        #expect(hanging.mostAtOnce <= LookupThreads.limit)
    }

    @Test(.timeLimit(.minutes(10))) func `a cancelled query no longer waits for a thread`() async throws {
        let hanging = HangingResolver()
        let resolver = hanging.blocking
        let handle = try handle("host.example", resolver)
        let tasks = (0...LookupThreads.limit).map { _ in Task { try await handle.flags() } }
        try await eventually("one query waits") { resolver.threads.waitingCount == 1 }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        try await eventually("no query waits") { resolver.threads.waitingCount == 0 }
        hanging.releaseCalls(tasks.count)
        try await eventually("all calls have returned") { resolver.threads.runningCount == 0 }
        #expect(hanging.callCount == LookupThreads.limit)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            { source, query in _ = try await source.value(of: query) },
            { source, query in _ = try await source.values(of: [.flags(), query]) },
            { source, query in
                let order = NetworkQuery.order(of: try .host("host.example"))
                _ = try await source.value(of: order)
            },
        ] as [@Sendable (NetworkSource, NetworkQuery<ReachabilityFlags>) async throws -> Void])
    func `a cancelled query throws at once, while its resolver hangs`(
        ask: @escaping @Sendable (NetworkSource, NetworkQuery<ReachabilityFlags>) async throws -> Void
    ) async throws {
        let resolver = HangingResolver()
        let handle = try handle("host.example", resolver.blocking)
        let task = Task { try await ask(handle.source, handle.query) }
        await resolver.waitForCalls(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        resolver.releaseCalls(1)
    }

    @Test func `names and addresses are asked about together, in order`() async throws {
        let source = source(ClosureResolver { $0 == "db.internal" ? .addresses([remote]) : .notFound })
        let targets = try ["db.internal", "other.internal", "198.51.100.7"].map {
            try ReachabilityTarget.host($0)
        }
        let results = try await source.values(of: targets.map { .flags(of: $0, options: patient) })
        #expect(results == [.success(.reachable), .success([]), .success(.reachable)])
    }

    /// One after the other, the second name waited for the first.
    @Test(.timeLimit(.minutes(10))) func `names are resolved side by side, also for a blocked thread`()
        async throws
    {
        let resolver = HangingResolver()
        let source = source(resolver.blocking)
        let queries = try ["one.example", "two.example"].map {
            NetworkQuery.flags(of: try .host($0), options: patient)
        }
        let (results, continuation) = AsyncStream.makeStream(
            of: [Result<ReachabilityFlags, ReachabilityError>].self)
        DispatchQueue(label: "blocked").async { continuation.yield(source.blockingValues(of: queries)) }
        await resolver.waitForCalls(2)
        resolver.releaseCalls(2)
        for await result in results {
            #expect(result == [.success(.reachable), .success(.reachable)])
            break
        }
    }

    // MARK: Resolvers

    @Test func `a program's resolver resolves the names of its source`() throws {
        let resolver = ClosureResolver { $0 == "db.internal" ? .addresses([remote]) : .notFound }
        #expect(try handle("db.internal", resolver).blockingReport().address == remote)
        #expect(try handle("other.internal", resolver).blockingReport().reason.code == .nameNotFound)
    }

    @Test func `a resolver that throws is an error with its text`() throws {
        let handle = try handle("db.internal", ClosureResolver { _ in throw RegistryIsDown() })
        let error = #expect(throws: ReachabilityError.self) { try handle.blockingFlags() }
        #expect(error?.code == .resolverFailure)
        #expect(error?.description == "cannot resolve db.internal: the registry is down")
        #expect(error?.underlyingError is RegistryIsDown)
    }

    @Test func `a resolver that throws is the same error in a task`() async throws {
        let handle = try handle("db.internal", ClosureResolver { _ in throw RegistryIsDown() })
        let error = await #expect(throws: ReachabilityError.self) { try await handle.flags() }
        #expect(error?.code == .resolverFailure)
        #expect(error?.description == "cannot resolve db.internal: the registry is down")
        #expect(error?.underlyingError is RegistryIsDown)
    }

    @Test func `a resolver that does not return is given up, in both forms`() async throws {
        struct NeverResolver: NameResolver {
            func resolve(
                _ name: String, families: ReachabilityOptions.Families, timeout: Duration
            ) async throws -> ReachabilityTarget.Resolution {
                try await Task.sleep(for: .seconds(3_600))
                return .notFound
            }
        }
        var options = ReachabilityOptions()
        options.resolution.timeout = .milliseconds(1)
        let handle = try NetworkReachability(
            host: "db.internal", options: options, source: source(NeverResolver()))
        #expect(try await handle.report().reason.code == .nameTimedOut)
        #expect(try { try handle.blockingReport() }().reason.code == .nameTimedOut)
    }

    @Test func `an empty list of addresses is a name without addresses`() throws {
        let report = try handle("db.internal", ClosureResolver { _ in .addresses([]) }).blockingReport()
        #expect(report.reason.code == .nameNotFound)
    }

    @Test(.timeLimit(.minutes(10))) func `a monitor resolves through the program's resolver`() async throws {
        let handle = try handle("db.internal", ClosureResolver { _ in .addresses([remote]) })
        var updates = handle.updates.makeAsyncIterator()
        #expect(try await updates.next() == .reachable)
    }

    // MARK: Initialisers and flags

    @Test func `the initialiser of the default path takes options and source`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        let network = ScriptedRouting()
        let source = NetworkSource(routing: network, resolver: ScriptedResolver([:]))
        let handle = NetworkReachability(options: options, source: source)
        #expect(handle.target == .defaultPath && handle.options == options)
        #expect(try handle.blockingFlags().isEmpty)
        #expect(network.queries.map(\.destination) == [probeV6])
    }

    @Test func `the decision is also a property`() {
        #expect(ReachabilityFlags([.reachable]).isNetworkReachable)
        #expect(!ReachabilityFlags([.reachable, .connectionRequired]).isNetworkReachable)
        #expect(
            ReachabilityFlags([.reachable, .connectionRequired, .connectionOnTraffic]).isNetworkReachable)
    }
}
