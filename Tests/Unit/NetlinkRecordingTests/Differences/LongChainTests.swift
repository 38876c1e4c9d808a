// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// Very many routes of one prefix, with every placement, against a plain list of them.
struct LongChainTests {
    private static let count: UInt32 = 500

    private static func insert(_ make: (UInt32) -> NetworkChange) -> NetworkSnapshot {
        var host = makeHost()
        for number in 0..<count { host.apply(make(number)) }
        return host
    }

    private static let shapes: [@Sendable (UInt32) -> NetworkChange] = [
        { .route("198.51.100.0/24", via: "192.0.2.1", dev: 2, metric: 30_000 - $0) },
        { number in
            .route("198.51.100.0/24", via: "192.0.2.1", dev: 2) { $0.tos = UInt8(number & 255) }
        },
        { .route("198.51.100.0/24", via: "10.\($0 >> 8).\($0 & 255).1", dev: 2) },
        { .route("198.51.100.0/24", via: "10.\($0 >> 8).\($0 & 255).1", dev: 2, .first) },
        { .route("2001:db8::/32", via: "fe80::1", dev: 2, metric: 30_000 - $0) },
        { .route("2001:db8::/32", dev: 10 + $0, metric: 256) },
        { .route("2001:db8::/32", dev: 10 + $0, metric: 256, .first) },
    ]

    @Test(arguments: shapes.indices)
    func `very many routes of one prefix are inserted, compared and removed`(index: Int) throws {
        let make = Self.shapes[index]
        var host = Self.insert(make)
        let expected = index == 1 ? 256 : Int(Self.count)
        #expect(host.routeCount == expected)
        // The same again changes nothing.
        let before = host.routes
        for number in 0..<Self.count { host.apply(make(number)) }
        #expect(host.routes == before)
        let old = makeHost()
        let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(host))
        #expect(comparison.differences.count == expected)
        var changed = host
        if let last = host.routes.last { changed.apply(.removedRoute(last)) }
        #expect(
            NetworkComparison(SnapshotRouting(host), SnapshotRouting(changed)).differences.count == 1)
        for route in before { host.apply(.removedRoute(route)) }
        #expect(host.routeCount == 0)
    }

    @Test func `very many equal default routes are chosen from`() {
        let host = Self.insert { .route("0.0.0.0/0", via: "10.\($0 >> 8).\($0 & 255).1", dev: 2) }
        #expect(host.way("203.0.113.1") == "0.0.0.0/0 10.0.0.1 dev 2")
    }

    @Test func `routes of a prefix stand as in a plain list, whatever comes and goes`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<Rounds.of(500) {
            var host = makeHost()
            var list: [Route] = []
            for _ in 0..<40 {
                let interface = UInt32.random(in: 2...4, using: &random)
                let metric = UInt32.random(in: 0...2, using: &random)
                let tos: UInt8 = [0, 0, 8].randomElement(using: &random) ?? 0
                let gateway = ["10.0.0.1", "10.0.0.2", nil].randomElement(using: &random) ?? nil
                let placement =
                    [RoutePlacement.last, .first, .replacing].randomElement(using: &random) ?? .last
                let change = NetworkChange.route(
                    "198.51.100.0/24", via: gateway, dev: interface, metric: metric, placement
                ) { $0.tos = tos }
                guard case .route(let route, _) = change else { continue }
                if Bool.random(using: &random) {
                    host.apply(change)
                    Self.insert(route, placement, &list)
                } else {
                    host.apply(.removedRoute(route))
                    if let index = list.firstIndex(of: route) { list.remove(at: index) }
                }
            }
            #expect(host.routes == list)
        }
    }

    private static func insert(_ route: Route, _ placement: RoutePlacement, _ list: inout [Route]) {
        guard !list.contains(route) else { return }
        let peers = list.indices.filter { list[$0].tos == route.tos && list[$0].priority == route.priority }
        if let first = peers.first, let last = peers.last {
            switch placement {
            case .replacing: list[first] = route
            case .first: list.insert(route, at: first)
            case .last: list.insert(route, at: last + 1)
            }
        } else {
            let index = list.firstIndex { ($0.tos, route.priority) < (route.tos, $0.priority) }
            list.insert(route, at: index ?? list.endIndex)
        }
    }
}
