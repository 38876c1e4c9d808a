// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// Failures beneath the network, as the engine meets them.
struct FailureTests {
    private let network = SimulatedNetwork(.wired)
    private let reachability: NetworkReachability

    init() throws {
        reachability = NetworkReachability(address: IPAddress(203, 0, 113, 80), source: network.source)
    }

    @Test func `lost notifications are compensated by a new query`() async throws {
        let log = try reachability.log()
        try await network.settle()
        try network.changeLosingNotifications { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        try await network.advance(by: .milliseconds(50))
        #expect(log.take() == ["-R -------", "-- -------"])
        #expect(network.source.monitorCounters.overruns == 1)
    }

    @Test func `without notifications everything is queried every five seconds`() async throws {
        network.change { $0.failures.refusesNotifications = true }
        let log = try reachability.log()
        try await network.settle()
        try network.change { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        try await network.advance(by: .milliseconds(4_999))
        #expect(log.take() == ["-R -------"])
        try await network.advance(by: .milliseconds(1))
        #expect(log.take() == ["-- -------"])
        #expect(network.source.monitorCounters.refusedGroups > 0)
        #expect(network.source.monitorCounters.polls == 1)
    }

    @Test func `a broken socket is replaced by polling`() async throws {
        let log = try reachability.log()
        try await network.settle()
        network.breakNotifications()
        try await network.settle()
        try network.change { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        try await network.advance(by: .seconds(5))
        #expect(log.take() == ["-R -------", "-- -------"])
    }

    @Test func `a kernel that refuses queries is an error, not "unreachable"`() async throws {
        let log = try reachability.log()
        try await network.settle()
        try network.change { host in
            try host.removeRoute(SimulatedRoute(to: .allV4))
            host.failures.queries = .notPermitted
        }
        try await network.advance(by: .seconds(10))
        let entries = log.take()
        #expect(entries.count == 2 && entries.first == "-R -------")
        #expect(entries.last?.contains("Operation not permitted") == true)
        let error = await #expect(throws: ReachabilityError.self) { try await reachability.flags() }
        #expect(error?.code == .systemFailure)
        #expect(error?.number == 1)
        network.change { $0.failures.queries = nil }
        try await network.advance(by: .seconds(30))
        #expect(log.take() == ["-- -------"])
    }

    @Test func `an observation without a netlink socket fails, and a later one succeeds`() async throws {
        network.change { $0.failures.opening = .unsupportedFamily }
        let error = #expect(throws: ReachabilityError.self) { try reachability.observe { _ in } }
        #expect(error?.number == 97)
        network.change { $0.failures.opening = nil }
        let log = try reachability.log()
        try await network.settle()
        #expect(log.take() == ["-R -------"])
    }

    @Test func `after a suspension everything is queried`() async throws {
        let log = try reachability.log()
        try await network.settle()
        try network.changeSilently { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        network.sleepMachine(for: .seconds(3_600))
        try await network.settle()
        #expect(log.take() == ["-R -------", "-- -------"])
        #expect(network.source.monitorCounters.sleeps == 1)
    }
}

/// Names, and resolvers that do not answer.
struct SimulatedNameTests {
    private let network = SimulatedNetwork(.wired)
    private let reachability: NetworkReachability

    init() throws {
        reachability = try NetworkReachability(host: "Example.com", source: network.source)
    }

    @Test func `a name has the addresses that the test sets`() throws {
        network.change { $0.names["example.com"] = .addresses("2001:db8::1", "192.0.2.7") }
        let report = try reachability.blockingReport()
        #expect(report.flags.letters == "-R ------d")
        #expect(report.address == IPAddress(192, 0, 2, 7))
        #expect(report.findings.map(\.address) == [IPAddress("2001:db8::1"), IPAddress(192, 0, 2, 7)])
    }

    @Test(arguments: [
        (SimulatedNames.Answer.notFound, "nameNotFound"),
        (.failing, "nameNotResolved"),
        (.timingOut, "nameTimedOut"),
    ])
    func `a name without addresses is not reachable, with its own reason`(
        answer: SimulatedNames.Answer,
        code: String
    ) throws {
        network.change { $0.names["example.com"] = answer }
        let report = try reachability.blockingReport()
        #expect(report.flags == [])
        #expect("\(report.reason.code)" == code)
    }

    @Test func `a resolver that cannot run is an error, and the last flags stay`() async throws {
        let log = FlagsLog()
        let observation = try reachability.observe { log.append($0) }
        try await network.settle()
        network.change { $0.names["example.com"] = .unavailable }
        network.notifyResolverChange()
        try await network.advance(by: .milliseconds(100))
        let text = "cannot resolve a name: the simulated resolver cannot run"
        #expect(log.take() == ["-R -------", text])
        #expect(observation.current == [.reachable])
        let error = await #expect(throws: ReachabilityError.self) { try await reachability.flags() }
        #expect(error?.code == .resolverFailure)
        network.change { $0.names["example.com"] = .notFound }
        try await network.advance(by: .seconds(1))
        #expect(log.take() == ["-- -------"])
    }

    @Test func `a name that hangs does not prevent settling, and is reported once it resolves`() async throws
    {
        network.change { $0.names["example.com"] = .hanging }
        let log = try reachability.log()
        try await network.settle { network.hangingNameCount == 1 }
        #expect(log.take() == [])
        network.change { $0.names["example.com"] = .addresses("192.0.2.7") }
        try await network.settle()
        #expect(log.take() == ["-R ------d"])
        #expect(network.hangingNameCount == 0)
    }

    @Test func `a name that hangs for longer than the time-out fails`() async throws {
        network.change { $0.names["example.com"] = .hanging }
        let log = try reachability.log()
        try await network.settle { network.hangingNameCount == 1 }
        try await network.advance(by: .milliseconds(4_999))
        #expect(log.take() == [])
        try await network.advance(by: .milliseconds(1))
        #expect(log.take() == ["-- -------"])
    }

    @Test func `a new answer is used when the resolver's configuration changes`() async throws {
        let log = try reachability.log()
        try await network.settle()
        network.change { $0.names["example.com"] = .addresses("192.0.2.7") }
        try await network.settle()
        #expect(log.take() == ["-R -------"])
        network.notifyResolverChange()
        try await network.advance(by: .milliseconds(100))
        #expect(log.take() == ["-R ------d"])
    }
}
