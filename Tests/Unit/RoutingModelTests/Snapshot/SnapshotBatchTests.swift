// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

struct SnapshotBatchTests {
    /// A host with many routes of all lengths, so that its table has slots.
    private static func host(routes: Int, _ generator: inout SeededGenerator) -> NetworkSnapshot {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("198.18.0.0/15", dev: 1) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) },
            .route("203.0.113.0/24", nexthops: []) { $0.type = .prohibit },
            .route("203.0.112.0/24", nexthops: [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)])
        )
        for _ in 0..<routes {
            // Half of them in two small corners, where they lie in and below each other.
            var address = UInt32.random(in: 0...(.max), using: &generator)
            if Bool.random(using: &generator) { address = 0x0a00_0000 | address & 0x1ffff }
            let length = generator.pick([9, 15, 16, 17, 18, 20, 21, 22, 24, 24, 24, 24, 25, 28, 32])
            guard let prefix = IPPrefix(IPAddress(v4: address), length: length) else { continue }
            let nexthop = Nexthop(interfaceIndex: generator.pick([2, 3]))
            host.apply(.route(Route(destination: prefix, nexthops: [nexthop]), .last))
        }
        return host
    }

    @Test(arguments: [0, 1_500, 12_000])
    func `many destinations at once get the outlines that each gets alone`(routes: Int) throws {
        var generator = SeededGenerator(seed: UInt64(routes) + 1)
        let host = Self.host(routes: routes, &generator)
        var destinations = [
            "198.18.5.5", "203.0.113.9", "203.0.112.9", "2001:db8::1", "::1", "0.0.0.0", "224.0.0.1",
            "255.255.255.255", "10.0.0.0", "9.255.255.255",
        ].compactMap { IPAddress($0) }
        for _ in 0..<800 {
            let address = UInt32.random(in: 0...(.max), using: &generator)
            destinations.append(IPAddress(v4: address))
            destinations.append(IPAddress(v4: 0x0a00_0000 | address & 0x1ffff))
        }
        var outlines: [RouteSummary] = []
        try host.forEachOutline(of: destinations) { place, outline in
            #expect(place == outlines.count)
            outlines.append(outline)
        }
        #expect(outlines.count == destinations.count)
        for (destination, outline) in zip(destinations, outlines) {
            #expect(try outline == host.outline(for: RouteQuery(destination: destination)), "\(destination)")
        }
    }

    @Test func `a destination that is undecided ends a batch with its reason`() throws {
        let route = NetworkChange.route("10.0.0.0/8", nexthops: []) { $0.nexthopID = 5 }
        let host = makeHost(.route("0.0.0.0/0", dev: 2), route)
        var places: [Int] = []
        let destinations = [IPAddress(11, 0, 0, 1), IPAddress(10, 0, 0, 1), IPAddress(11, 0, 0, 2)]
        #expect(throws: RoutingFault.self) {
            try host.forEachOutline(of: destinations) { place, _ in places.append(place) }
        }
        #expect(places == [0])
    }

    @Test func `no destination is none`() throws {
        try makeHost().forEachOutline(of: []) { _, _ in Issue.record("nobody asked") }
    }
}
