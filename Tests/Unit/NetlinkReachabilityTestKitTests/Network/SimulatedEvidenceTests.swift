// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// Whether anything answers in a simulated network, for tests of what a program does when nothing does.
struct SimulatedEvidenceTests {
    private let network = SimulatedNetwork()
    private let remote = IPAddress(198, 51, 100, 7)

    init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    /// The verdicts of an observation after each step.
    private func verdicts(
        _ steps: (() async throws -> Void)...
    ) async throws -> [NetworkEvidence.Verdict?] {
        let observation = try network.source.observe(.evidence()) { _ in }
        var found: [NetworkEvidence.Verdict?] = []
        for step in steps {
            try await step()
            try await network.settle()
            found.append(observation.current?.verdict)
        }
        return found
    }

    private func converse() throws {
        for remote in ["198.51.100.7", "198.51.100.8"] {
            try network.change { try $0.addConversation(with: remote, every: .seconds(1)) }
        }
    }

    @Test func `a path falls silent, and answers again, while its flags stay`() async throws {
        let reachability = NetworkReachability(address: remote, source: network.source)
        let flags = try await reachability.flags()
        try converse()
        let found = try await verdicts(
            { try await network.advance(by: .seconds(5)) },
            { network.change { $0.silence = .beyondGateway } },
            { try await network.advance(by: .seconds(3)) },
            { try await network.advance(by: .seconds(3)) },
            { network.change { $0.silence = nil } },
            { try await network.advance(by: .seconds(2)) })
        #expect(found == [.answered, .answered, .answered, .silent, .answered, .answered])
        #expect(try await reachability.flags() == flags)
    }

    @Test func `a gateway that falls silent is noticed at once`() async throws {
        try converse()
        let found = try await verdicts(
            { try await network.advance(by: .seconds(5)) },
            { network.change { $0.silence = .gateway } },
            {
                network.change { $0.silence = nil }
                // The second change of a burst is evaluated at its end.
                try await network.advance(by: .milliseconds(250))
            })
        #expect(found == [.answered, .gatewaySilent, .answered])
    }

    @Test func `nothing has answered before the machine slept`() async throws {
        try converse()
        let found = try await verdicts(
            { try await network.advance(by: .seconds(5)) },
            {
                network.change { $0.silence = .beyondGateway }
                network.sleepMachine(for: .seconds(3_600))
            })
        #expect(found == [.answered, NetworkEvidence.Verdict.none])
    }

    @Test func `a wait ends when something has answered`() async throws {
        try converse()
        let evidence = try await network.source.wait(for: .evidence()) { $0.verdict == .answered }
        #expect(evidence.connections == 2 && evidence.gateway == .answers)
    }

    @Test func `a conversation needs a route`() throws {
        let network = SimulatedNetwork()
        #expect(throws: SimulationError.self) {
            try network.change { try $0.addConversation(with: "198.51.100.7") }
        }
    }
}
