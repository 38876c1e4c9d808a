// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// Which connections count for a path, and when the evidence is read.
struct EvidenceQueryTests {
    private static let own = IPAddress(192, 0, 2, 2)
    private static let other = IPAddress(203, 0, 113, 9)

    private static func route(_ index: UInt32, via gateway: IPAddress? = gateway) -> RoutingResult {
        .success(.taken(RouteMatch(.unicast, Nexthop(interfaceIndex: index, gateway: gateway))))
    }

    private static func connection(
        from local: IPAddress = own,
        to remote: IPAddress = other,
        state: TCPState = .established
    ) -> ConnectedSocket {
        var progress = TCPProgress()
        (progress.lastAcknowledgement, progress.lastDataReceived) = (100, 200)
        let flow = ConnectedSocket.Flow(
            ipProtocol: 6, local: local, remote: remote, localPort: 40_000, remotePort: 443)
        return ConnectedSocket(flow, cookie: 1, state: state, progress: progress)
    }

    /// A host with a default route on eth2, and one on eth3 to another remote.
    private static func host(_ sockets: ConnectedSocket...) -> ScriptedAnswers {
        ScriptedAnswers(
            bySource: [nil: route(2), own: route(2)],
            byDestination: [
                IPAddress(203, 0, 113, 10): route(3), IPAddress(203, 0, 113, 11): route(2, via: own),
            ],
            own: [InterfaceAddress(interfaceIndex: 2, address: own, prefixLength: 24)],
            record: .kernel(sockets, [:]))
    }

    private static func evidence(_ host: ScriptedAnswers) throws -> NetworkEvidence {
        try NetworkQuery.evidence(of: .address(remote)).query.answer(from: host.facts, nil)
    }

    /// A recorder went on naming the path from before a failover, so a replay had no evidence after it.
    @Test func `another path is a change, even with the same verdict`() {
        func isChange(
            _ verdict: NetworkEvidence.Verdict, _ other: NetworkEvidence.Verdict? = nil,
            on interface: UInt32 = 2
        ) -> Bool {
            let query = EvidenceQuery(FlagsQuery(target: .defaultPath, options: ReachabilityOptions()))
            var (one, two) = (NetworkEvidence(), NetworkEvidence())
            (one.verdict, one.interfaceIndex) = (verdict, 2)
            (two.verdict, two.interfaceIndex) = (other ?? verdict, interface)
            return !query.areSame(one, two)
        }
        #expect(NetworkEvidence.Verdict.allCases.allSatisfy { !isChange($0) && isChange($0, on: 3) })
        #expect(isChange(.answered, .silent))
    }

    @Test func `a connection counts whose route takes the gateway of the path`() throws {
        #expect(try Self.evidence(Self.host(Self.connection())).connections == 1)
    }

    @Test(
        arguments: [
            ("another interface", connection(to: IPAddress(203, 0, 113, 10))),
            ("another gateway", connection(to: IPAddress(203, 0, 113, 11))),
            ("the local address is gone", connection(from: IPAddress(192, 0, 2, 3))),
            ("the remote is this host", connection(to: own)),
            ("the remote is a loopback address", connection(to: IPAddress(127, 0, 0, 1))),
            ("the socket has no remote", connection(to: .anyV4)),
        ]
    )
    func `other connections do not count`(why: String, socket: ConnectedSocket) throws {
        let evidence = try Self.evidence(Self.host(socket))
        #expect((evidence.connections, evidence.verdict) == (0, .none), "\(why)")
    }

    @Test func `where connections are not shown, there is no evidence`() throws {
        var host = Self.host()
        host.record = nil
        #expect(try Self.evidence(host) == NetworkEvidence())
    }

    @Test func `the routes of all connections are asked for together`() {
        let steps = Self.host(Self.connection()).walk { (known) throws(Interruption) in
            try EvidenceQuery(FlagsQuery(target: .address(remote), options: .init()))
                .value(&known)
        }
        let words = steps.map { step in
            switch step {
            case .missing(let words): words.joined(separator: ", ")
            case .value(let result): (try? result.get())?.verdict.rawValue ?? "failed"
            }
        }
        // Packets that select a nexthop have no words of their own.
        #expect(words == ["answers, addresses, route to 198.51.100.7", "interface 2", "", "answered"])
    }

    // MARK: When it is read

    /// A source that counts how often it is asked.
    private struct Counting: RoutingSource {
        let answers: ScriptedAnswers
        let count = Locked(0)

        func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
            answers.answer(&lookups, from: first)
        }

        func answer<Answer>(_ query: HostQuery<Answer>) -> Answer {
            if case .answerRecord = query { count.withLock { $0 += 1 } }
            return answers.answer(query)
        }
    }

    /// How often the evidence is read within a minute.
    private static func readings<Value>(
        _ query: NetworkQuery<Value>, _ host: ScriptedAnswers
    ) -> Int {
        let source = Counting(answers: host)
        var monitor = DrivenMonitor([query])
        var now = MonitorInstant(milliseconds: 1_000)
        let end = now + .seconds(59)
        monitor.begin(at: now)
        _ = monitor.advance(to: now) { source }
        while let due = monitor.due, due <= end {
            now = max(now, due)
            _ = monitor.advance(to: now) { source }
        }
        return source.count.withLock { $0 }
    }

    @Test func `it is read every 4 s, and every 1 s while something waits for an answer`() {
        let query = NetworkQuery.evidence(of: .address(remote))
        #expect(Self.readings(query, Self.host(Self.connection())) == 15)
        #expect(Self.readings(query, Self.host(Self.connection(state: .synSent))) == 57)
    }

    @Test func `nothing is read for other queries`() {
        #expect(Self.readings(NetworkQuery.flags(of: .address(remote)), Self.host(Self.connection())) == 0)
        #expect(Self.readings(NetworkQuery.path(), Self.host(Self.connection())) == 0)
    }

    @Test func `an observation remembers what has answered`() {
        let source = Locked(Self.host(Self.connection()))
        var monitor = DrivenMonitor([NetworkQuery.evidence(of: .address(remote))])
        var changes: [String] = []
        monitor.begin(at: MonitorInstant(milliseconds: 0))
        for second in stride(from: 0, through: 80, by: 4) {
            if second == 8 { source.withLock { $0.record = .kernel([], [:]) } }
            let found = monitor.advance(to: MonitorInstant(milliseconds: second * 1_100)) {
                source.withLock { $0 }
            }
            changes += found.compactMap { try? $0.result.get().description }
        }
        #expect(changes.map { $0.prefix(11) } == ["answered 0.", "no evidence"])
    }
}
