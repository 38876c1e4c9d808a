// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The steps of a lookup as tables: what a step waits for, what came of it, and the next step.
struct CandidateLookupTests {
    private static let targetV6 = IPAddress(v6High: 0x2001_0db8_0009 << 16, low: 9)
    private static let one = IPAddress(v6High: 0x2001_0db8_0001 << 16, low: 1)
    private static let two = IPAddress(v6High: 0x2001_0db8_0002 << 16, low: 1)
    private static let own = IPAddress(192, 0, 2, 2)
    private static let error = ReachabilityError(operation: "ask", number: 105)

    /// An answer through eth0, with the source that the packet gets.
    private static func answer(
        _ index: UInt32 = 2,
        from source: IPAddress? = nil,
        dependsOnSource: Bool = false
    ) -> RouteAnswer {
        RouteAnswer.taken(RouteMatch(.unicast, Nexthop(interfaceIndex: index))).with {
            ($0.source, $0.dependsOnSource) = (source, dependsOnSource)
        }
    }

    /// A step in words.
    private static func words(_ step: CandidateLookup.Step) -> String {
        switch step {
        case .findingInterface(let reference):
            "find \(reference.name ?? reference.index.map(String.init) ?? "")"
        case .checkingSource(let entry, let next): "check \(entry == nil ? "v6" : "v4") then \(words(next))"
        case .routing: "route"
        case .selectingSource: "select"
        case .routingFrom(let sources, _): "route from \(sources.map(\.description).joined(separator: " "))"
        case .fetchingInterfaces(let source, let answer):
            "fetch from \(source?.description ?? "-") through \(answer.match?.nexthop?.interfaceIndex ?? 0)"
        case .routingOuter(let destination, let sources, _, _):
            "route outer \(destination) from \(sources.map { $0?.description ?? "-" }.joined(separator: " "))"
        case .selectingOuterSource(let destination, _, _): "select outer \(destination)"
        case .fetchingOuterInterfaces: "fetch outer"
        case .answered(let source, _): "answered from \(source?.description ?? "-")"
        case .unreachable(let reason): "unreachable \(reason.code)"
        case .failed(let error): "failed \(error.number)"
        }
    }

    @Test(
        arguments: [
            (remote, nil, .success(answer(from: own)), "fetch from - through 2"),
            (remote, own, .success(answer(from: own)), "fetch from 192.0.2.2 through 2"),
            (remote, nil, .success(.rejected(.noRoute)), "fetch from - through 0"),
            (remote, nil, .failure(error), "failed 105"),
            (remote, nil, .success(answer(from: own, dependsOnSource: true)), "route from 192.0.2.2"),
            (remote, nil, .success(answer(dependsOnSource: true)), "select"),
            // Each nexthop has a source, and the kernel's answer that of the one it takes.
            (
                remote, nil,
                .success(
                    answer(from: own, dependsOnSource: true).with {
                        $0.nexthops.append(Nexthop(interfaceIndex: 3))
                    }),
                "route from 192.0.2.2"
            ),
            // No address can be the source: the first answer stands.
            (remote, nil, .success(answer(from: .anyV4, dependsOnSource: true)), "fetch from - through 2"),
            // A rejection is the last word in IPv4 alone.
            (targetV6, nil, .success(.rejected(.noRoute)), "select"),
            (targetV6, one, .success(.rejected(.noRoute)), "fetch from 2001:db8:1::1 through 0"),
            // IPv6 keeps an accepted route, and needs an address.
            (targetV6, nil, .success(answer(from: one, dependsOnSource: true)), "fetch from - through 2"),
            (targetV6, nil, .success(answer(from: .anyV6, dependsOnSource: true)), "fetch from - through 0"),
        ] as [(IPAddress, IPAddress?, RoutingResult, String)])
    func `what follows from the route of a packet`(
        destination: IPAddress, source: IPAddress?, result: RoutingResult, next: String
    ) {
        var lifetime: Int32?
        let query = RouteQuery(destination: destination, source: source)
        #expect(
            Self.words(
                CandidateLookup.step(
                    query, after: result, onLinkFrom: nil, isDefaultPath: false, &lifetime)) == next)
    }

    @Test(
        arguments: [
            (.rejected(.unreachable), own, "route from 192.0.2.2"),
            (.rejected(.unreachable), nil, "fetch from - through 0"),
            (answer(from: own), own, "fetch from - through 2"),
        ] as [(RouteAnswer, IPAddress?, String)])
    func `what follows from the route of a bound packet, and from its source on the link`(
        first: RouteAnswer, source: IPAddress?, next: String
    ) {
        var lifetime: Int32?
        let step = CandidateLookup.step(
            RouteQuery(destination: remote), after: .success(first), onLinkFrom: source, isDefaultPath: false,
            &lifetime)
        #expect(Self.words(step) == next)
    }

    @Test(
        arguments: [
            (remote, answer(), [], "fetch from - through 2"),
            (remote, answer(), [own], "route from 192.0.2.2"),
            (targetV6, .rejected(.noRoute), [], "fetch from - through 0"),
            (targetV6, .rejected(.noRoute), [one, two], "route from 2001:db8:1::1 2001:db8:2::1"),
            (targetV6, answer(), [one], "fetch from - through 2"),
            (targetV6, answer(), [], "fetch from - through 0"),
        ] as [(IPAddress, RouteAnswer, [IPAddress], String)])
    func `what follows from the addresses that can be selected`(
        destination: IPAddress, first: RouteAnswer, sources: [IPAddress], next: String
    ) {
        let query = RouteQuery(destination: destination)
        #expect(Self.words(CandidateLookup.step(query, after: first, from: sources)) == next)
    }

    @Test(
        arguments: [
            ([answer()], "fetch from 2001:db8:1::1 through 2"),
            ([answer(), answer()], "fetch from - through 2"),
            ([.rejected(.prohibited)], "fetch from - through 0"),
            // The sources take different routes.
            ([answer(2), answer(3)], "failed 0"),
        ] as [([RouteAnswer], String)])
    func `what follows from the routes of several sources`(answers: [RouteAnswer], next: String) {
        var lifetime: Int32?
        let results = zip([Self.one, Self.two], answers).map { ($0, RoutingResult.success($1)) }
        let query = RouteQuery(destination: Self.targetV6)
        let step = CandidateLookup.step(query, after: .rejected(.noRoute), results, &lifetime)
        #expect(Self.words(step) == next)
    }

    @Test(
        arguments: [
            (nil, "answered from -"),
            (Encapsulation(.seg6, to: "2001:db8:9::9"), "select outer 2001:db8:9::9"),
            (Encapsulation(.ip, to: "203.0.113.9"), "route outer 203.0.113.9 from -"),
            (Encapsulation(.mpls), "answered from -"),
            // It is not shown where such packets go.
            (Encapsulation(.seg6), "failed 0"),
        ] as [(Encapsulation?, String)])
    func `what follows from the final route of a packet`(encapsulation: Encapsulation?, next: String) {
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: encapsulation)
        let answer = RouteAnswer.taken(RouteMatch(.unicast, nexthop))
        #expect(Self.words(CandidateLookup.step(after: answer, from: nil)) == next)
    }

    /// Gives a lookup the answer to each of its queries, and says which interfaces exist.
    private static func answer(_ lookup: inout CandidateLookup, _ answer: RouteAnswer, isFound: Bool) {
        var queries: [RouteLookup] = []
        lookup.appendQueries(to: &queries)
        for index in queries.indices { queries[index].result = .success(answer) }
        var next = 0
        lookup.takeResults(queries, at: &next)
        lookup.take(.success(isFound))
    }

    @Test func `a lookup that begins again forgets the packet around its own`() {
        var lookup = CandidateLookup(
            .address(remote), .full, RouteQuery(destination: remote))
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        Self.answer(&lookup, .taken(RouteMatch(.unicast, nexthop)), isFound: true)
        lookup.takeOuter(.success([]))
        Self.answer(&lookup, Self.answer(3), isFound: false)
        #expect(Self.words(lookup.step) == "route" && lookup.outer == nil)
        Self.answer(&lookup, Self.answer(), isFound: true)
        #expect(Self.words(lookup.step) == "answered from -" && lookup.routes.count == 1)
    }

    @Test func `the nexthops of several IPv4 sources are judged together`() {
        var lifetime: Int32?
        let results = [
            (Self.own, RoutingResult.success(Self.answer(2))), (gateway, .success(Self.answer(3))),
        ]
        let step = CandidateLookup.step(
            RouteQuery(destination: remote), after: Self.answer(), results, &lifetime)
        guard case .fetchingInterfaces(nil, let answer) = step else {
            Issue.record("\(Self.words(step))")
            return
        }
        #expect(answer.nexthops.map(\.interfaceIndex) == [2, 3])
    }

    /// A plan in words.
    private static func plan(
        _ destination: IPAddress, from local: IPAddress? = nil, on interface: InterfaceReference? = nil,
        boundTo index: UInt32? = nil
    ) -> String {
        var options = ReachabilityOptions()
        options.interface = interface
        return words(
            CandidateLookup(
                .address(destination), from: local, options, .flags, boundTo: index
            ).step)
    }

    @Test func `what a plan begins with`() {
        let linkLocal = IPAddress(v6High: 0xfe80 << 48, low: 9)
        var zoned = linkLocal
        zoned.zone = ZoneIdentifier(name: "eth1")
        #expect(Self.plan(remote) == "route")
        #expect(Self.plan(remote, from: Self.own) == "route")
        #expect(Self.plan(Self.targetV6, from: Self.one) == "check v6 then route")
        #expect(Self.plan(remote, on: "eth0") == "find eth0")
        #expect(Self.plan(zoned) == "find eth1")
        #expect(Self.plan(zoned, on: "eth0") == "find eth1")
        #expect(Self.plan(linkLocal) == "unreachable needsInterface")
        // A socket is bound to an index, whatever its addresses and options say.
        #expect(Self.plan(zoned, on: "eth0", boundTo: 7) == "find 7")
        #expect(Self.plan(remote, on: "eth0", boundTo: 0) == "route")
    }
}
