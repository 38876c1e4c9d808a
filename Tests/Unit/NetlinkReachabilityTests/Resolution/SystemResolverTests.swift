// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

@Suite(.serialized)
struct SystemResolverTests {
    /// A call that hangs until it is let go.
    private final class HangingCall: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let begun = Locked(0)

        var count: Int {
            begun.withLock { $0 }
        }

        func run() -> ReachabilityTarget.Resolution {
            begun.withLock { $0 += 1 }
            gate.wait()
            return .addresses([.loopbackV4])
        }

        func letGo(_ count: Int) {
            for _ in 0..<count { gate.signal() }
        }
    }

    @Test(
        arguments: [
            (EAI_NONAME, nil), (-5, nil), (-9, nil),
            (EAI_AGAIN, "Temporary failure in name resolution"),
            (EAI_FAIL, "Non-recoverable failure in name resolution"),
        ] as [(Int32, String?)]
    )
    func `each code of getaddrinfo maps to a result`(code: Int32, message: String?) throws {
        let resolution = try AddressInfo.resolution(code: code, errno: 0)
        #expect(resolution == (message.map { .failed($0) } ?? .notFound))
    }

    @Test func `a system error is named by its errno`() throws {
        let resolution = try AddressInfo.resolution(code: EAI_SYSTEM, errno: ECONNREFUSED)
        #expect(resolution == .failed("Connection refused"))
        #expect(try AddressInfo.resolution(code: EAI_SYSTEM, errno: 0) == .failed("System error"))
    }

    /// glibc reports EAI_NONAME when it cannot open /etc/hosts, and an existing name had "no address".
    @Test(
        arguments: [
            (EAI_NONAME, EMFILE), (EAI_NONAME, ENFILE), (EAI_AGAIN, ENOMEM), (EAI_SYSTEM, EMFILE),
            (EAI_MEMORY, 0), (-5, EMFILE),
        ] as [(Int32, Int32)]
    )
    func `running out of descriptors or memory is an error and never a missing name`(
        code: Int32, number: Int32
    ) {
        let error = #expect(throws: ReachabilityError.self) {
            try AddressInfo.resolution(code: code, errno: number)
        }
        #expect(error?.number == (number == 0 ? ENOMEM : number))
        #expect(error?.isExhaustion == true)
    }

    @Test(arguments: ["localhost", "localhost.", "LOCALHOST", "a.localhost", "b.a.localhost."])
    func `localhost and every name below it are loopback addresses without the resolver`(name: String) throws
    {
        let resolver = SystemResolver { (_, _) throws(ReachabilityError) in
            throw ReachabilityError(operation: "resolve a name", number: EMFILE)
        }
        let all = try resolver.resolve(NameQuery(name, families: .all, timeout: .zero))
        #expect(all == .addresses([.loopbackV6, .loopbackV4]))
        #expect(
            try resolver.resolve(NameQuery(name, families: .v4, timeout: .zero)) == .addresses([.loopbackV4]))
        #expect(throws: ReachabilityError.self) {
            try resolver.resolve(NameQuery("localhost.example", families: .all, timeout: .seconds(120)))
        }
    }

    @Test func `localhost resolves to loopback addresses without duplicates`() throws {
        let resolver = SystemResolver.shared
        let resolution = try resolver.resolve(NameQuery("localhost", families: .all, timeout: .seconds(120)))
        guard case .addresses(let addresses) = resolution else {
            Issue.record("localhost is \(resolution)")
            return
        }
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.isLoopback })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func `one family alone is resolved when asked`() throws {
        let resolution = try SystemResolver.shared.resolve(
            NameQuery("localhost", families: .v4, timeout: .seconds(120)))
        #expect(resolution == .addresses([.loopbackV4]))
    }

    @Test func `the result of the call is returned with name and families`() async throws {
        let resolver = SystemResolver { name, families in
            name == "a.example" && families == .v6 ? .failed("seen") : .notFound
        }
        #expect(
            try resolver.resolve(NameQuery("a.example", families: .v6, timeout: .seconds(120)))
                == .failed("seen"))
        #expect(
            try resolver.resolve(NameQuery("b.example", families: .v6, timeout: .seconds(120))) == .notFound)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
    }

    @Test func `a call that hangs times out`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        #expect(
            try resolver.resolve(NameQuery("slow.example", families: .all, timeout: .milliseconds(1)))
                == .timedOut)
        #expect(resolver.threads.runningCount == 1)
        call.letGo(1)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
    }

    /// A call began and was abandoned at once, and beyond 64 of them the result came to be another one.
    @Test(arguments: [Duration.zero, .seconds(-5)])
    func `without time a name is not resolved, whatever else is`(
        timeout: Duration
    ) async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        #expect(
            try resolver.resolve(NameQuery("slow.example", families: .all, timeout: timeout)) == .timedOut)
        #expect(resolver.threads.runningCount == 0)
        try hang(resolver)
        #expect(
            try resolver.resolve(NameQuery("slow.example", families: .all, timeout: timeout)) == .timedOut)
        call.letGo(LookupThreads.limit)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
    }

    @Test func `a timeout of centuries waits for ever`() throws {
        let resolver = SystemResolver { _, _ in .notFound }
        #expect(
            try resolver.resolve(NameQuery("a.example", families: .all, timeout: .seconds(Int64.max)))
                == .notFound)
    }

    /// Has as many calls hang as can run.
    private func hang(_ resolver: SystemResolver, at location: SourceLocation = #_sourceLocation) throws {
        for _ in 0..<LookupThreads.limit {
            #expect(
                try resolver.resolve(NameQuery("slow.example", families: .all, timeout: .microseconds(1)))
                    == .timedOut,
                sourceLocation: location)
        }
        #expect(resolver.threads.runningCount == LookupThreads.limit, sourceLocation: location)
    }

    @Test func `a call above the limit waits for others to end`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        try hang(resolver)
        let results = Locked<[ResolvedName]>([])
        _ = resolver.begin(NameQuery("more.example", families: .all, timeout: .seconds(120)), countedBy: nil)
        { result in
            results.withLock { $0.append(result) }
        }
        #expect(resolver.threads.waitingCount == 1)
        try await eventually("64 calls have begun, not \(call.count)") { call.count == LookupThreads.limit }
        call.letGo(LookupThreads.limit + 1)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
        #expect(call.count == LookupThreads.limit + 1)
        try await eventually("the result is there") { results.withLock { $0.count } == 1 }
        #expect(results.withLock { $0 } == [.success(.addresses([.loopbackV4]))])
    }

    /// It was "not resolved in time", and so a definite "not reachable", though it was never asked.
    @Test func `a name that finds no call within its time is an error`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        try hang(resolver)
        let error = #expect(throws: ReachabilityError.self) {
            try resolver.resolve(NameQuery("one.more.example", families: .all, timeout: .milliseconds(1)))
        }
        #expect(error?.number == EAGAIN)
        #expect(error?.message == "64 earlier names are still being resolved: is the resolver hanging?")
        let results = Locked<[ResolvedName]>([])
        _ = resolver.begin(
            NameQuery("and.more.example", families: .all, timeout: .milliseconds(1)), countedBy: nil
        ) {
            result in results.withLock { $0.append(result) }
        }
        try await eventually("the error is there") { results.withLock { $0.count } == 1 }
        #expect(results.withLock { $0 } == error.map { [.failure($0)] })
        #expect(resolver.threads.waitingCount == 0)
        call.letGo(LookupThreads.limit)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
        #expect(call.count == LookupThreads.limit)
    }

    /// The timer could fire before the name waited: the result was "not resolved in time", and the name stayed.
    @Test func `a name whose time is over as soon as it waits is an error`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        try hang(resolver)
        let results = Locked<[ResolvedName]>([])
        for _ in 0..<1_000 {
            _ = resolver.begin(
                NameQuery("more.example", families: .all, timeout: .nanoseconds(1)), countedBy: nil
            ) {
                result in
                results.withLock { $0.append(result) }
            }
        }
        try await eventually("each has its result") { results.withLock { $0.count } == 1_000 }
        #expect(results.withLock { $0.filter { (try? $0.get()) != nil } } == [])
        #expect(resolver.threads.waitingCount == 0)
        call.letGo(LookupThreads.limit)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
    }

    @Test func `a name that is no longer wanted does not wait for a call`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        try hang(resolver)
        let cancel = resolver.begin(
            NameQuery("more.example", families: .all, timeout: .seconds(120)), countedBy: nil
        ) { _ in Issue.record("a cancelled name has no result") }
        cancel()
        #expect(resolver.threads.waitingCount == 0)
        call.letGo(LookupThreads.limit)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
        #expect(call.count == LookupThreads.limit)
    }

    @Test func `a late result is dropped`() async throws {
        let late = HangingCall()
        let resolver = SystemResolver { name, _ in name == "late.example" ? late.run() : .notFound }
        #expect(
            try resolver.resolve(NameQuery("late.example", families: .all, timeout: .milliseconds(1)))
                == .timedOut)
        late.letGo(1)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
        #expect(
            try resolver.resolve(NameQuery("other.example", families: .all, timeout: .seconds(120)))
                == .notFound)
    }

    @Test func `the thread of a call takes no signals of the program`() throws {
        let resolver = SystemResolver { _, _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1
                ? .notFound : .timedOut
        }
        #expect(
            try resolver.resolve(NameQuery("a.example", families: .all, timeout: .seconds(120))) == .notFound)
    }

    @Test func `forty threads resolve at once`() async throws {
        let resolver = SystemResolver { name, _ in .failed(name) }
        let wrong = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 40) { thread in
            for round in 0..<20 {
                let name = "\(thread).\(round).example"
                let answer = try? resolver.resolve(NameQuery(name, families: .all, timeout: .seconds(120)))
                if answer != .failed(name) { wrong.withLock { $0 += 1 } }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        try await eventually("no call is in flight") { resolver.threads.runningCount == 0 }
    }

    @Test(
        arguments: [
            (Duration.zero, 0), (.seconds(1), 1_000_000_000), (.nanoseconds(1), 1), (.seconds(-1), 0),
            (.nanoseconds(-1), 0), (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
            (.seconds(Int64.max), .max),
            (Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 854_775_807_000_000_000), .max),
            (Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 999_000_000_000_000_000), .max),
        ] as [(Duration, Int)]
    )
    func `durations become whole nanoseconds within bounds`(duration: Duration, nanoseconds: Int) {
        #expect(duration.nanoseconds == nanoseconds)
    }
}
