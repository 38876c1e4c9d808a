// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

/// The entry of the table and the packet's own route, put together.
struct RouteAnswerPacketTests {
    private static let query = RouteQuery(destination: IPAddress(198, 51, 100, 7))
    private static let one = Nexthop(
        interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1), weight: 3, flags: .linkDown)
    private static let two = Nexthop(interfaceIndex: 3, gateway: IPAddress(203, 0, 113, 1))

    private func entry(_ nexthops: Nexthop..., type: RouteType = .unicast) -> RouteAnswer {
        .route(Route(destination: .allV4, type: type, nexthops: nexthops))
    }

    private func packet(_ index: UInt32, _ gateway: IPAddress?, type: RouteType = .unicast) -> RouteAnswer {
        RouteAnswer.taken(RouteMatch(type, Nexthop(interfaceIndex: index, gateway: gateway)))
            .with { $0.source = IPAddress(192, 0, 2, 2) }
    }

    private func gateways(_ answer: RouteAnswer) -> [IPAddress?] { answer.nexthops.map(\.gateway) }

    @Test func `the packet's gateway replaces that of its nexthop, whose state stays`() {
        let own = entry(Self.one).taken(by: packet(2, nil), of: Self.query, takesOne: false)
        #expect(own.nexthops == [Nexthop(interfaceIndex: 2, weight: 3, flags: .linkDown)])
        let redirected = IPAddress(192, 0, 2, 9)
        let other = entry(Self.one).taken(by: packet(2, redirected), of: Self.query, takesOne: false)
        #expect(gateways(other) == [redirected])
        #expect(other.match?.source == IPAddress(192, 0, 2, 2))
    }

    /// The target was behind a gateway that was itself.
    @Test func `a packet that is redirected to its destination has no gateway`() {
        let target = Self.query.destination
        let chosen = packet(2, target)
        #expect(gateways(entry(Self.one).taken(by: chosen, of: Self.query, takesOne: false)) == [nil])
        let several = entry(Self.one, Self.two).taken(by: chosen, of: Self.query, takesOne: false)
        #expect(gateways(several) == [nil, Self.two.gateway])
        // A route has the gateway that it was given.
        let own = entry(Nexthop(interfaceIndex: 2, gateway: target))
        #expect(gateways(own.taken(by: chosen, of: Self.query, takesOne: false)) == [target])
    }

    @Test func `the table's entry stays as it is`() {
        let answer = entry(Self.one).taken(by: packet(2, nil), of: Self.query, takesOne: false)
        #expect(answer.entry?.nexthops == [Self.one])
    }

    @Test func `of several nexthops the others stay`() {
        let answer = entry(Self.one, Self.two).taken(by: packet(3, nil), of: Self.query, takesOne: false)
        #expect(gateways(answer) == [Self.one.gateway, nil])
    }

    @Test func `a connected socket has the nexthop that the kernel chose`() {
        let chosen = packet(3, Self.two.gateway)
        #expect(
            entry(Self.one, Self.two).taken(by: chosen, of: Self.query, takesOne: true).nexthops == [
                Self.two
            ])
    }

    @Test func `of two encapsulations to one gateway a connected socket has that which the kernel chose`() {
        let nexthops = [1, 2].map { last in
            Nexthop(
                interfaceIndex: 2, gateway: Self.one.gateway,
                encapsulation: Encapsulation(.ip, to: IPAddress(203, 0, 113, last)))
        }
        let chosen = RouteAnswer.taken(RouteMatch(.unicast, nexthops[1]))
        let answer = entry(nexthops[0], nexthops[1]).taken(by: chosen, of: Self.query, takesOne: true)
        #expect(answer.nexthops == [nexthops[1]])
    }

    @Test func `a choice through an interface that the entry does not use is another packet's`() {
        let answer = entry(Self.one).taken(by: packet(9, nil), of: Self.query, takesOne: false)
        #expect(answer.nexthops == [Self.one])
    }

    /// `__mkroute_output` drops the gateway of a group, and IPv6 has no such rule.
    @Test func `only of an IPv4 group the packet without a gateway takes those of all nexthops`() throws {
        let gateway = try #require(IPAddress("fe80::1"))
        for (group, other, left) in [
            (IPAddress("239.1.2.3"), Self.two, nil),
            (IPAddress("ff0e::1"), Nexthop(interfaceIndex: 3, gateway: gateway), gateway),
        ] {
            let query = RouteQuery(destination: try #require(group))
            let entry = entry(Nexthop(interfaceIndex: 2), other, type: .multicast)
            let answer = entry.taken(by: packet(2, nil, type: .multicast), of: query, takesOne: false)
            #expect(gateways(answer) == [nil, left])
        }
    }

    @Test func `an address of this host keeps the interface of its entry`() {
        let entry = entry(Nexthop(interfaceIndex: 2), type: .local)
        let answer = entry.taken(by: packet(1, nil, type: .local), of: Self.query, takesOne: false)
        #expect(answer.nexthops.map(\.interfaceIndex) == [2])
    }

    /// RTM_GETROUTE cannot be asked as strictly as a bound IPv6 socket with a source address looks up.
    @Test func `a rejection of the packet does not count against a strict entry`() {
        var query = Self.query
        query.isStrict = true
        let answer = entry(Self.one).taken(by: .rejected(.noRoute), of: query, takesOne: false)
        #expect(answer == entry(Self.one))
    }

    @Test func `a rejection of either counts, that of the entry first`() {
        let rejected = RouteAnswer.rejected(.noRoute)
        #expect(rejected.taken(by: packet(2, nil), of: Self.query, takesOne: false) == rejected)
        #expect(entry(Self.one).taken(by: rejected, of: Self.query, takesOne: false) == rejected)
        let prohibited = RouteAnswer.rejected(.prohibited)
        #expect(prohibited.taken(by: rejected, of: Self.query, takesOne: false) == prohibited)
    }

    @Test(arguments: [RouteRejection.noRoute, .unreachable])
    func `a bound packet to a group needs no entry`(rejection: RouteRejection) {
        let rejected = RouteAnswer.rejected(rejection)
        var query = RouteQuery(destination: IPAddress(239, 1, 2, 3))
        let group = packet(2, nil, type: .multicast)
        #expect(rejected.taken(by: group, of: query, takesOne: false) == rejected)
        query.outputInterface = 2
        #expect(rejected.taken(by: group, of: query, takesOne: false) == group)
        let prohibited = RouteAnswer.rejected(.prohibited)
        #expect(prohibited.taken(by: group, of: query, takesOne: false) == prohibited)
    }
}
