// SPDX-License-Identifier: Apache-2.0

import Fakes
import Glibc
import NetlinkReachability
import RoutingModel
import Testing

/// A query that could not be answered is an error, never "not reachable".
struct TargetErrorTests {
    private static let error = ReachabilityError(
        operation: "ask for a route",
        number: ENOBUFS,
        message: "No buffer space"
    )

    private func expectError(
        _ network: ScriptedRouting,
        _ target: ReachabilityTarget = .address(remote),
        resolver: ScriptedResolver = ScriptedResolver(),
        options: ReachabilityOptions = ReachabilityOptions(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let handle = try reachability(target, network, resolver: resolver, options: options)
        for ask in [{ _ = try handle.blockingFlags() }, { _ = try handle.blockingReport() }] {
            let error = #expect(throws: ReachabilityError.self, sourceLocation: sourceLocation) { try ask() }
            #expect(error?.code == .systemFailure, sourceLocation: sourceLocation)
            #expect(error?.number == ENOBUFS, sourceLocation: sourceLocation)
            #expect(error?.operation == "ask for a route", sourceLocation: sourceLocation)
            #expect(error?.message == "No buffer space", sourceLocation: sourceLocation)
        }
    }

    @Test func `an error of the route query surfaces`() throws {
        try expectError(ScriptedRouting(.init(answers: [remote: [.error(Self.error)]])))
    }

    @Test func `an error of the interface query surfaces`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [remote: [.route(.via(2))]]
        try expectError(ScriptedRouting(.init(answers: answers, interfaceError: Self.error)))
    }

    @Test func `an error about the interface of an own address surfaces in a report alone`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [remote: [.route(.via(2, type: .local))]]
        let network = ScriptedRouting(.init(answers: answers, interfaceError: Self.error))
        let handle = try reachability(.address(remote), network)
        #expect(try handle.blockingFlags() == own)
        let error = #expect(throws: ReachabilityError.self) { try handle.blockingReport() }
        #expect(error?.number == ENOBUFS)
    }

    @Test func `an error about the interface of the zone surfaces`() throws {
        try expectError(ScriptedRouting(.init(interfaceError: Self.error)), .address(address("fe80::1%2")))
    }

    @Test func `an error of the own address check surfaces`() throws {
        let network = ScriptedRouting(.init(answers: [gateway: [.error(Self.error)]]))
        try expectError(network, .pair(local: gateway, remote: remote))
    }

    @Test func `an error of the second probe surfaces`() throws {
        try expectError(ScriptedRouting(.init(answers: [probeV6: [.error(Self.error)]])), .defaultPath)
    }

    @Test func `an error of the second lookup surfaces`() throws {
        for ask in [
            { (handle: NetworkReachability) in _ = try handle.blockingFlags() },
            { _ = try $0.blockingReport() },
        ] {
            let answers: [IPAddress: [ScriptedRouting.Answer]] = [
                remote: [.route(.via(99)), .error(Self.error)]
            ]
            let handle = try reachability(.address(remote), ScriptedRouting(.init(answers: answers)))
            #expect(throws: ReachabilityError.self) { try ask(handle) }
        }
    }

    @Test func `an error after an unresolved name surfaces`() throws {
        let network = ScriptedRouting(.init(answers: [lowerProbe: [.error(Self.error)]]))
        try expectError(network, .host("missing.example"))
    }

    @Test func `an error of a later address surfaces unless an earlier one is reachable`() throws {
        let second = IPAddress(198, 51, 100, 8)
        let resolver = ScriptedResolver(["host.example": .addresses([remote, second])])
        try expectError(
            ScriptedRouting(.init(answers: [second: [.error(Self.error)]])),
            .host("host.example"),
            resolver: resolver
        )
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [
            remote: [.route(.via(2))], second: [.error(Self.error)],
        ]
        let network = ScriptedRouting(.init(answers: answers, interfaces: [.eth0]))
        #expect(
            try reachability(.host("host.example"), network, resolver: resolver).blockingFlags() == direct)
    }

    @Test func `an error about the packet's own route surfaces`() throws {
        let network = ScriptedRouting(
            .init(
                answers: [remote: [.route(.via(2))]],
                choices: [remote: .error(Self.error)],
                interfaces: [.eth0]
            )
        )
        let handle = try reachability(.address(remote), network)
        for ask in [{ _ = try handle.blockingFlags() }, { _ = try handle.blockingReport() }] {
            let error = #expect(throws: ReachabilityError.self) { try ask() }
            #expect(error?.number == ENOBUFS)
        }
    }

    @Test func `an undecided query keeps its own code`() throws {
        let given = ReachabilityError(.undecided, operation: "look up", message: "two equal routes")
        let network = ScriptedRouting(.init(answers: [remote: [.error(given)]]))
        let handle = try reachability(.address(remote), network)
        let error = #expect(throws: ReachabilityError.self) { try handle.blockingFlags() }
        #expect(error?.code == .undecided)
        #expect(error?.description == "undecided: two equal routes")
    }

    /// It came out as a failure of the system once.
    @Test func `a resolver that cannot run has a code of its own`() throws {
        let given = ReachabilityError(
            .resolverFailure, operation: "resolve a name", number: EAGAIN, message: "is the resolver hanging?"
        )
        let handle = try reachability(
            .host("host.example"),
            ScriptedRouting(),
            resolver: ScriptedResolver(error: given)
        )
        let error = #expect(throws: ReachabilityError.self) { try handle.blockingFlags() }
        #expect(error?.code == .resolverFailure)
        #expect(error?.number == EAGAIN)
        #expect(error?.description.contains("is the resolver hanging?") == true)
    }
}
