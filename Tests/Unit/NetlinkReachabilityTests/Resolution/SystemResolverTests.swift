// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import RoutingModel
import Synchronization
import Testing

@testable import NetlinkReachability

@Suite(.serialized)
struct SystemResolverTests {
    /// A call that hangs until it is let go.
    private final class HangingCall: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let begun = Mutex(0)

        var count: Int {
            begun.withLock { $0 }
        }

        func run() -> HostResolution {
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
        let fault = #expect(throws: RoutingFault.self) {
            try AddressInfo.resolution(code: code, errno: number)
        }
        #expect(fault?.number == (number == 0 ? ENOMEM : number))
        #expect(fault?.isExhaustion == true)
    }

    @Test(arguments: ["localhost", "localhost.", "LOCALHOST", "a.localhost", "b.a.localhost."])
    func `localhost and every name below it are loopback addresses without the resolver`(name: String) throws
    {
        let resolver = SystemResolver { (_, _) throws(RoutingFault) in
            throw RoutingFault(operation: "resolve a name", number: EMFILE)
        }
        let all = try resolver.resolve(name, families: .all, timeout: .zero)
        #expect(all == .addresses([.loopbackV6, .loopbackV4]))
        #expect(try resolver.resolve(name, families: .v4, timeout: .zero) == .addresses([.loopbackV4]))
        #expect(throws: RoutingFault.self) {
            try resolver.resolve("localhost.example", families: .all, timeout: .seconds(120))
        }
    }

    @Test func `localhost resolves to loopback addresses without duplicates`() throws {
        let resolver = SystemResolver.shared
        let resolution = try resolver.resolve("localhost", families: .all, timeout: .seconds(120))
        guard case .addresses(let addresses) = resolution else {
            Issue.record("localhost is \(resolution)")
            return
        }
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.isLoopback })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func `one family alone is resolved when asked`() throws {
        let resolution = try SystemResolver.shared.resolve("localhost", families: .v4, timeout: .seconds(120))
        #expect(resolution == .addresses([.loopbackV4]))
    }

    @Test func `the result of the call is returned with name and families`() async throws {
        let resolver = SystemResolver { name, families in
            name == "a.example" && families == .v6 ? .failed("seen") : .notFound
        }
        #expect(try resolver.resolve("a.example", families: .v6, timeout: .seconds(120)) == .failed("seen"))
        #expect(try resolver.resolve("b.example", families: .v6, timeout: .seconds(120)) == .notFound)
        try await eventually("no call is in flight") { resolver.callsInFlight == 0 }
    }

    @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-5)]) func `a call that hangs times out`(
        timeout: Duration
    ) async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        #expect(try resolver.resolve("slow.example", families: .all, timeout: timeout) == .timedOut)
        #expect(resolver.callsInFlight == 1)
        call.letGo(1)
        try await eventually("no call is in flight") { resolver.callsInFlight == 0 }
    }

    @Test func `a timeout of centuries waits for ever`() throws {
        let resolver = SystemResolver { _, _ in .notFound }
        #expect(try resolver.resolve("a.example", families: .all, timeout: .seconds(Int64.max)) == .notFound)
    }

    @Test func `a call above the limit waits for others to end`() async throws {
        let call = HangingCall()
        let resolver = SystemResolver { _, _ in call.run() }
        for _ in 0..<SystemResolver.callLimit {
            #expect(try resolver.resolve("slow.example", families: .all, timeout: .zero) == .timedOut)
        }
        #expect(resolver.callsInFlight == 64)
        #expect(try resolver.resolve("one.more.example", families: .all, timeout: .zero) == .timedOut)
        #expect(resolver.callsInFlight == 64)
        try await eventually("64 calls have begun, not \(call.count)") { call.count == 64 }

        call.letGo(64)
        try await eventually("no call is in flight") { resolver.callsInFlight == 0 }
        call.letGo(1)
        let resolution = try resolver.resolve("again.example", families: .all, timeout: .seconds(120))
        #expect(resolution == .addresses([.loopbackV4]))
    }

    @Test func `a late result is dropped`() async throws {
        let late = HangingCall()
        let resolver = SystemResolver { name, _ in name == "late.example" ? late.run() : .notFound }
        #expect(try resolver.resolve("late.example", families: .all, timeout: .zero) == .timedOut)
        late.letGo(1)
        try await eventually("no call is in flight") { resolver.callsInFlight == 0 }
        #expect(try resolver.resolve("other.example", families: .all, timeout: .seconds(120)) == .notFound)
    }

    @Test func `the thread of a call takes no signals of the program`() throws {
        let resolver = SystemResolver { _, _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1
                ? .notFound : .timedOut
        }
        #expect(try resolver.resolve("a.example", families: .all, timeout: .seconds(120)) == .notFound)
    }

    @Test func `forty threads resolve at once`() async throws {
        let resolver = SystemResolver { name, _ in .failed(name) }
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 40) { thread in
            for round in 0..<20 {
                let name = "\(thread).\(round).example"
                let answer = try? resolver.resolve(name, families: .all, timeout: .seconds(120))
                if answer != .failed(name) { wrong.withLock { $0 += 1 } }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        try await eventually("no call is in flight") { resolver.callsInFlight == 0 }
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
