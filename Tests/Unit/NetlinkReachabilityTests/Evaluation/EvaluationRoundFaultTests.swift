// SPDX-License-Identifier: Apache-2.0

import Fakes
import Glibc
import NetlinkReachability
import RoutingModel
import Testing

/// A question that could not be answered is an error, never "not reachable".
struct EvaluationRoundFaultTests {
    private static let fault = ReachabilityError(
        operation: "ask for a route",
        number: ENOBUFS,
        libnlNumber: 5,
        message: "No buffer space"
    )

    private func expectFault(
        _ network: ScriptedRouting,
        _ target: ReachabilityTarget = .address(remote),
        resolver: ScriptedResolver = ScriptedResolver(),
        options: ReachabilityOptions = ReachabilityOptions(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let handle = try reachability(target, network, resolver: resolver, options: options)
        for ask in [{ _ = try handle.flags() }, { _ = try handle.report() }] {
            let error = #expect(throws: ReachabilityError.self, sourceLocation: sourceLocation) { try ask() }
            #expect(error?.code == .systemFailure, sourceLocation: sourceLocation)
            #expect(error?.number == ENOBUFS, sourceLocation: sourceLocation)
            #expect(error?.libnlNumber == 5, sourceLocation: sourceLocation)
            #expect(error?.operation == "ask for a route", sourceLocation: sourceLocation)
            #expect(error?.message == "No buffer space", sourceLocation: sourceLocation)
        }
    }

    @Test func `a fault of the route question surfaces`() throws {
        try expectFault(ScriptedRouting(.init(answers: [remote: [.fault(Self.fault)]])))
    }

    @Test func `a fault of the interface question surfaces`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [remote: [.route(.via(2))]]
        try expectFault(ScriptedRouting(.init(answers: answers, interfaceFault: Self.fault)))
    }

    @Test func `a fault about the interface of an own address surfaces in a report alone`() throws {
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [remote: [.route(.via(2, type: .local))]]
        let network = ScriptedRouting(.init(answers: answers, interfaceFault: Self.fault))
        let handle = try reachability(.address(remote), network)
        #expect(try handle.flags() == own)
        let error = #expect(throws: ReachabilityError.self) { try handle.report() }
        #expect(error?.number == ENOBUFS)
    }

    @Test func `a fault about the interface of the zone surfaces`() throws {
        try expectFault(ScriptedRouting(.init(interfaceFault: Self.fault)), .address(address("fe80::1%2")))
    }

    @Test func `a fault of the own address check surfaces`() throws {
        let network = ScriptedRouting(.init(answers: [gateway: [.fault(Self.fault)]]))
        try expectFault(network, .pair(local: gateway, remote: remote))
    }

    @Test func `a fault of the second probe surfaces`() throws {
        try expectFault(ScriptedRouting(.init(answers: [probeV6: [.fault(Self.fault)]])), .defaultPath)
    }

    @Test func `a fault of the second lookup surfaces`() throws {
        for ask in [{ (handle: NetworkReachability) in _ = try handle.flags() }, { _ = try $0.report() }] {
            let answers: [IPAddress: [ScriptedRouting.Answer]] = [
                remote: [.route(.via(99)), .fault(Self.fault)]
            ]
            let handle = try reachability(.address(remote), ScriptedRouting(.init(answers: answers)))
            #expect(throws: ReachabilityError.self) { try ask(handle) }
        }
    }

    @Test func `a fault after an unresolved name surfaces`() throws {
        let network = ScriptedRouting(.init(answers: [lowerProbe: [.fault(Self.fault)]]))
        try expectFault(network, .host("missing.example"))
    }

    @Test func `a fault of a later address surfaces unless an earlier one is reachable`() throws {
        let second = IPAddress(198, 51, 100, 8)
        let resolver = ScriptedResolver(["host.example": .addresses([remote, second])])
        try expectFault(
            ScriptedRouting(.init(answers: [second: [.fault(Self.fault)]])),
            .host("host.example"),
            resolver: resolver
        )
        let answers: [IPAddress: [ScriptedRouting.Answer]] = [
            remote: [.route(.via(2))], second: [.fault(Self.fault)],
        ]
        let network = ScriptedRouting(.init(answers: answers, interfaces: [.eth0]))
        #expect(try reachability(.host("host.example"), network, resolver: resolver).flags() == direct)
    }

    @Test func `a fault of the source choice surfaces in a report`() throws {
        let network = ScriptedRouting(
            .init(
                answers: [remote: [.route(.via(2))]],
                choices: [remote: .fault(Self.fault)],
                interfaces: [.eth0]
            )
        )
        let handle = try reachability(.address(remote), network)
        #expect(try handle.flags() == direct)
        let error = #expect(throws: ReachabilityError.self) { try handle.report() }
        #expect(error?.number == ENOBUFS)
    }

    @Test func `an undecided question keeps its own code`() throws {
        let fault = ReachabilityError(.undecided, operation: "look up", message: "two equal routes")
        let network = ScriptedRouting(.init(answers: [remote: [.fault(fault)]]))
        let handle = try reachability(.address(remote), network)
        let error = #expect(throws: ReachabilityError.self) { try handle.flags() }
        #expect(error?.code == .undecided)
        #expect(error?.description == "undecided: two equal routes")
    }

    /// It came out as a failure of the system once.
    @Test func `a resolver that cannot run has a code of its own`() throws {
        let fault = ReachabilityError(
            .resolverFailure, operation: "resolve a name", number: EAGAIN, message: "is the resolver hanging?"
        )
        let handle = try reachability(
            .host("host.example"),
            ScriptedRouting(),
            resolver: ScriptedResolver(fault: fault)
        )
        let error = #expect(throws: ReachabilityError.self) { try handle.flags() }
        #expect(error?.code == .resolverFailure)
        #expect(error?.number == EAGAIN)
        #expect(error?.description.contains("is the resolver hanging?") == true)
    }
}
