// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import RoutingModel
@testable import netflags

struct RecordedComparisonTests {
    /// A host with a default route.
    private static var host: NetworkSnapshot {
        var host = NetworkSnapshot()
        for rule in Rule.standard { host.apply(.rule(rule)) }
        host.apply(
            .link(LinkReport(Link(index: 2, name: "eth0", settings: RoutingSettings(ipv6Forwards: false)))))
        host.apply(
            .address(InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 1), prefixLength: 24)))
        host.add("0.0.0.0/0", Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 254)))
        host.dumpEnded(knowsNeighbours: true)
        return host
    }

    /// How many causes each target has where none is named, between a host and one with veth pairs, each with an
    /// address, and routes through these.
    private static func causes(pairs: UInt32, routes: UInt32) -> [Int] {
        let old = host
        var new = old
        for number in 1...pairs {
            let (near, far) = (number * 2 + 8, number * 2 + 9)
            let address = IPAddress(v4: 10 << 24 | number << 16 | 1)
            new.apply(.link(LinkReport(Link(index: near, name: "v\(number)", kind: "veth", lower: far))))
            new.apply(.link(LinkReport(Link(index: far, name: "p\(number)", kind: "veth", lower: near))))
            new.apply(.address(InterfaceAddress(interfaceIndex: near, address: address, prefixLength: 24)))
            let nexthop = Nexthop(interfaceIndex: near)
            new.add("10.\(number).0.0/24", nexthop) { $0.madeByKernel(for: address, .link) }
            new.add("\(address)/32", nexthop) {
                $0.madeByKernel(for: address, .host)
                ($0.type, $0.table) = (.local, Route.localTable)
            }
        }
        for number in 0..<routes {
            let pair = 1 + number % pairs
            let gateway = IPAddress(v4: 10 << 24 | pair << 16 | 254)
            let nexthop = Nexthop(interfaceIndex: pair * 2 + 8, gateway: gateway)
            new.add("172.\(16 + number / 250).\(number % 250).0/24", nexthop)
        }
        let comparison = RecordedComparison(.init(old), .init(new))
        let queries = comparison.queries(ReachabilityOptions()).queries
        return queries.map(comparison.compare).filter(\.isDifferent).map(\.causes.count)
    }

    @Test(arguments: [(200, 0), (60, 3000)] as [(UInt32, UInt32)])
    func `each of a hundred targets has one cause among many veth pairs and routes`(
        pairs: UInt32, routes: UInt32
    ) {
        #expect(Self.causes(pairs: pairs, routes: routes) == Array(repeating: 1, count: 100))
    }
}

extension RecordedRouting {
    fileprivate init(_ snapshot: NetworkSnapshot) {
        self.init(
            SnapshotRouting(snapshot))
    }
}

extension NetworkSnapshot {
    fileprivate mutating func add(
        _ prefix: String, _ nexthop: Nexthop, change: (inout Route) -> Void = { _ in }
    ) {
        guard let destination = IPPrefix(prefix) else { preconditionFailure("\(prefix) is not a prefix") }
        var route = Route(destination: destination, nexthops: [nexthop])
        change(&route)
        apply(.route(route, .last))
    }
}

extension Route {
    fileprivate mutating func madeByKernel(for address: IPAddress, _ scope: RouteScope) {
        (origin, self.scope, preferredSource) = (Route.kernelOrigin, scope, address)
    }
}
