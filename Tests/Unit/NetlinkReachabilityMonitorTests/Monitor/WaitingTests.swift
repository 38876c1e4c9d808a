// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

/// Waits for queries of each kind; `UpdatesTests` has those for the flags of a handle.
struct WaitingTests {
    private static let target = ReachabilityTarget.address(IPAddress(192, 0, 2, 1))

    let network = ScriptedNetwork()

    private func connection() throws -> NetworkConnection {
        try NetworkConnection(
            transport: .tcp, local: IPAddress(192, 0, 2, 2), localPort: 1, remote: IPAddress(192, 0, 2, 3),
            remotePort: 2)
    }

    /// Begins a wait, makes a change, and returns what the wait returns.
    private func wait<Value>(
        for query: NetworkQuery<Value>,
        timeout: Duration? = .seconds(3_600),
        until condition: @escaping @Sendable (Value) -> Bool,
        change: () async -> Void
    ) async throws -> Value {
        let source = network.source
        let task = Task { try await source.wait(for: query, timeout: timeout, until: condition) }
        try await eventually("the wait has joined the monitor") { source.monitor.userCount > 0 }
        await network.settle()
        await change()
        return try await task.value
    }

    /// Waits for 3 s for what does not happen.
    private func timeOut<Value>(
        _ query: NetworkQuery<Value>,
        change: @Sendable (ScriptedNetwork) -> Void = { _ in }
    ) async throws -> ReachabilityError {
        let source = network.source
        let task = Task { try await source.wait(for: query, timeout: .seconds(3)) { _ in false } }
        try await eventually("the wait has joined the monitor") { source.monitor.userCount > 0 }
        await network.settle()
        change(network)
        await network.settle()
        network.clock.advance(by: .seconds(3))
        let error = await #expect(throws: ReachabilityError.self) { try await task.value }
        #expect(source.monitor.userCount == 0)
        return try #require(error)
    }

    // MARK: Values

    @Test(arguments: [nil, Duration.seconds(3_600)])
    func `a wait for the path returns the path that meets the condition`(timeout: Duration?) async throws {
        let path = try await wait(
            for: .path(), timeout: timeout, until: { $0.status == .satisfied },
            change: { network.setDefault(.defaultRoute(2, via: "192.0.2.254")) })
        #expect(path.names == ["eth0"])
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a wait for a connection returns its status`() async throws {
        let status = try await wait(for: .status(of: connection()), until: \.isViable) {
            network.setRoute(true)
        }
        #expect(status.state == .viable)
    }

    @Test func `a wait for reports returns the report`() async throws {
        let report = try await wait(for: .report(of: Self.target), until: \.isReachable) {
            network.setRoute(true)
        }
        #expect(report.interface?.name == "eth0")
    }

    @Test func `a wait for an event returns it`() async throws {
        let event = try await wait(for: .events, until: { $0 == .notificationsLost }, change: network.overrun)
        #expect(event == .notificationsLost)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a value that meets the condition already is returned at once`() async throws {
        network.routing.setRoute(.documentation, true)
        let status = try await network.source.wait(for: .status(of: connection())) { $0.isViable }
        #expect(status.state == .viable)
        #expect(network.starts == 0)
    }

    @Test func `a wait asks about each value once, in order`() async throws {
        let asked = Locked<[String]>([])
        let path = try await wait(
            for: .path(),
            until: { path in
                asked.withLock { $0.append(path.status.rawValue) }
                return path.supportsIPv6
            },
            change: {
                network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
                await network.settle()
                network.clock.advance(by: .seconds(1))
                network.setDefault(.defaultRoute(2, via: "fe80::1", family: .v6))
            }
        )
        #expect(path.supportsIPv6)
        #expect(asked.withLock { $0 } == ["unsatisfied", "satisfied", "satisfied"])
    }

    // MARK: The limit

    @Test func `a time-out has the last path in its text`() async throws {
        let error = try await timeOut(.path())
        #expect(error.code == .timedOut)
        #expect(error.reason == nil)
        #expect("\(error)" == "timed out after 3.0 seconds: default path: unsatisfied")
    }

    @Test func `a time-out has the reason of a report`() async throws {
        let error = try await timeOut(.report(of: Self.target))
        #expect(error.reason?.code == .noRoute)
        #expect("\(error)" == "timed out after 3.0 seconds: 192.0.2.1 is not reachable: no route")
    }

    @Test func `a time-out has the reason of a status`() async throws {
        let error = try await timeOut(.status(of: connection()))
        #expect(error.reason?.code == .noRoute)
        #expect("\(error)".contains("waiting: no route"))
    }

    @Test func `a time-out has the letters of flags`() async throws {
        let error = try await timeOut(.flags(of: Self.target)) { $0.setRoute(true) }
        #expect("\(error)" == "timed out after 3.0 seconds: flags of 192.0.2.1: \(onLink.letters)")
    }

    // An observation of events alone was not known to the state machine, and had no deadline.
    @Test func `a wait for events times out`() async throws {
        let error = try await timeOut(.events)
        #expect("\(error)" == "timed out after 3.0 seconds: events: no value yet")
        #expect(network.clock.nextDue == nil)
    }

    @Test func `a wait for events with a limit of zero times out at once`() async throws {
        let error = await #expect(throws: ReachabilityError.self) {
            try await network.source.wait(for: .events, timeout: .zero) { _ in true }
        }
        #expect(error?.code == .timedOut)
        #expect(network.starts == 0)
    }

    @Test func `a time-out has the failure of the last evaluation as its cause`() async throws {
        let failure = ReachabilityError(operation: "ask", number: 24)
        network.routing.fail(failure)
        let error = try await timeOut(.status(of: connection()))
        #expect(error.code == .timedOut)
        #expect(error.underlyingError as? ReachabilityError == failure)
    }

    @Test func `a wait with a limit of zero throws the failure of its evaluation`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let error = await #expect(throws: ReachabilityError.self) {
            try await network.source.wait(for: .path(), timeout: .zero) { _ in true }
        }
        #expect(error?.number == 24)
    }

    @Test func `a wait goes on while evaluations fail`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        network.routing.setRoute(.documentation, true)
        let status = try await wait(for: .status(of: connection()), until: \.isViable) {
            network.routing.fail(nil)
            network.clock.advance(by: .seconds(1))
        }
        #expect(status.isViable)
    }

    @Test func `a wait for a path ends when its task is cancelled`() async throws {
        let source = network.source
        let task = Task { try await source.wait(for: .path()) { _ in false } }
        try await eventually("the wait has joined the monitor") { source.monitor.userCount > 0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(source.monitor.userCount == 0)
    }
}
