// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// What becomes of a connection as a table: what is known, and the status or what is missing.
struct ConnectionQueryTests {
    private static let own = IPAddress(192, 0, 2, 2)
    private static let other = IPAddress(192, 0, 2, 3)

    /// A route through an interface.
    private static func route(_ index: UInt32, from source: IPAddress = own) -> RoutingResult {
        .success(
            .taken(RouteMatch(.unicast, Nexthop(interfaceIndex: index, gateway: gateway))).with {
                $0.source = source
            })
    }

    /// The local table has the address of the connection on eth2.
    private static let local = RoutingResult.success(
        .taken(RouteMatch(.local, Nexthop(interfaceIndex: 2))))

    private static let down = Link(index: 2, name: "eth2", flags: [.up], carrier: false)

    private static func walk(
        _ answers: ScriptedAnswers,
        from local: IPAddress = own,
        on interface: UInt32? = nil
    ) throws -> [String] {
        let connection = try NetworkConnection(
            transport: .tcp, local: local, localPort: 40_000, remote: remote, remotePort: 443,
            interfaceIndex: interface)
        return answers.walk { (known) throws(Interruption) in
            try ConnectionQuery(connection: connection).value(&known)
        }.map { step in
            switch step {
            case .missing(let words): words.joined(separator: ", ")
            case .value(.success(let status)): "\(status)"
            case .value(.failure(let error)): "failed \(error.number)"
            }
        }
    }

    @Test func `its packets and those of a new connection are asked about together`() throws {
        let answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(2), nil: Self.route(2)], byDestination: [Self.own: Self.local])
        #expect(
            try Self.walk(answers).prefix(2) == [
                "route to 192.0.2.2, route to 198.51.100.7 from 192.0.2.2, route to 198.51.100.7",
                "interface 2",
            ])
    }

    @Test(
        arguments: [
            // The same interface and source: there is no better path.
            ([own: route(2), nil: route(2)], local, "viable: through gateway 192.0.2.1 on eth2"),
            // A new connection takes another interface.
            (
                [own: route(2), nil: route(3, from: other)], local,
                "viable: through gateway 192.0.2.1 on eth2; better path: eth3 via 192.0.2.1 from 192.0.2.3"
            ),
            // The tables have no route for the packets of this connection alone.
            (
                [own: .success(.rejected(.noRoute)), nil: route(3, from: other)], local,
                "waiting: no route; better path: eth3 via 192.0.2.1 from 192.0.2.3"
            ),
            // The host has lost the address.
            (
                [own: route(2), nil: route(3, from: other)], .success(.rejected(.noRoute)),
                "lost: the source 192.0.2.2 is not an address of this host; "
                    + "better path: eth3 via 192.0.2.1 from 192.0.2.3"
            ),
        ] as [([IPAddress?: RoutingResult], RoutingResult, String)])
    func `what becomes of a connection follows from its routes and its address`(
        routes: [IPAddress?: RoutingResult], address: RoutingResult, status: String
    ) throws {
        let answers = ScriptedAnswers(bySource: routes, byDestination: [Self.own: address])
        #expect(try Self.walk(answers).last == status)
    }

    /// The interface with the address has no carrier, and packets leave through another one.
    @Test(arguments: [
        (
            RouteAnswer.taken(RouteMatch(.local, Nexthop(interfaceIndex: 1))),
            "viable: leaves through eth3, but answers may not arrive: eth2 has no carrier"
        ),
        (
            .rejected(.reversePathFilter),
            "viable: leaves by eth3; an answer that arrives there is dropped after the next change of a route, "
                + "by its reverse path filter (strict): no way back from 192.0.2.2 to 198.51.100.7 leads through it"
        ),
    ])
    func `whether the kernel would take answers is asked on each interface`(
        answer: RouteAnswer, status: String
    ) throws {
        var answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(3), nil: Self.route(3)], byDestination: [Self.own: Self.local])
        answers.interfaces[0] = Self.down
        answers.own = [
            InterfaceAddress(interfaceIndex: 2, address: Self.own, prefixLength: 24),
            InterfaceAddress(interfaceIndex: 3, address: Self.other, prefixLength: 24),
        ]
        answers.arriving = .success(answer)
        #expect(try Self.walk(answers).last == status)
    }

    /// It failed, and the list of all sockets with it.
    @Test func `a socket that was connected without an address waits for one`() throws {
        var answers = ScriptedAnswers(bySource: [nil: Self.route(2, from: .anyV4)])
        #expect(
            try Self.walk(answers, from: .anyV4).last
                == "waiting: no usable source address on eth2: no IPv4 address is valid there")
        answers.bySource = [nil: Self.route(2)]
        #expect(try Self.walk(answers, from: .anyV4).last == "viable: through gateway 192.0.2.1 on eth2")
    }

    /// All new connections of such sockets timed out.
    @Test(arguments: [(2, true), (3, false)] as [(UInt32, Bool)])
    func `a bound socket is offered no path from an address of another interface`(
        owner: UInt32, isOffered: Bool
    ) throws {
        let answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(2), nil: Self.route(2, from: Self.other)],
            byDestination: [Self.own: Self.local],
            own: [InterfaceAddress(interfaceIndex: owner, address: Self.other, prefixLength: 24)])
        #expect(try Self.walk(answers, on: 2).last?.contains("better path") == isOffered)
    }

    @Test(
        arguments: [("lo", .loopback, ""), ("dummy0", [], "dummy"), ("eth3", [], "")]
            as [(String, LinkFlags, String)])
    func `a bound socket is offered a path from an address of the host itself`(
        name: String, flags: LinkFlags, kind: String
    ) throws {
        var owner = Link(index: 3, name: name, kind: kind)
        owner.flags.formUnion(flags)
        let answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(2), nil: Self.route(2, from: Self.other)],
            byDestination: [Self.own: Self.local], interfaces: [Link(index: 2, name: "eth2"), owner],
            own: [InterfaceAddress(interfaceIndex: 3, address: Self.other, prefixLength: 24)])
        let isOffered = try Self.walk(answers, on: 2).last?.contains("better path")
        #expect(isOffered == (name != "eth3"))
    }

    @Test func `no path is offered from an address whose interface cannot receive`() throws {
        let answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(3), nil: Self.route(3, from: Self.other)],
            byDestination: [Self.own: .success(.taken(RouteMatch(.local, Nexthop(interfaceIndex: 3))))],
            interfaces: [Self.down, Link(index: 3, name: "eth3")],
            own: [InterfaceAddress(interfaceIndex: 2, address: Self.other, prefixLength: 24)])
        #expect(try Self.walk(answers).last == "viable: through gateway 192.0.2.1 on eth3")
    }

    @Test func `a connection whose interface has no carrier waits`() throws {
        let answers = ScriptedAnswers(
            bySource: [Self.own: Self.route(2), nil: Self.route(2)], byDestination: [Self.own: Self.local],
            interfaces: [Self.down])
        #expect(try Self.walk(answers).last == "waiting: eth2 has no carrier")
    }

    @Test func `a connection that is bound to an interface which is gone is lost`() throws {
        let answers = ScriptedAnswers(byDestination: [Self.own: Self.local])
        #expect(try Self.walk(answers, on: 7).first == "interface 7")
        #expect(try Self.walk(answers, on: 7).last == "lost: no interface has the index 7")
    }
}
