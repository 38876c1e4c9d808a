// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

struct NetworkComparisonTests {
    /// A host with two ways out, and what the kernel makes for its addresses.
    private static func host(_ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost(
            .address(address("192.0.2.1", on: 2)), .address(address("203.0.113.1", on: 3)),
            .route("192.0.2.0/24", dev: 2) { $0.madeByKernel("192.0.2.1") },
            .route("203.0.113.0/24", dev: 3) { $0.madeByKernel("203.0.113.1") },
            .route("0.0.0.0/0", via: "192.0.2.254", dev: 2),
            .route("10.0.0.0/8", via: "203.0.113.254", dev: 3)
        )
        for change in changes { host.apply(change) }
        return host
    }

    private static func address(_ text: String, on interface: UInt32) -> InterfaceAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is not an address") }
        return InterfaceAddress(
            interfaceIndex: interface, address: address, prefixLength: address.family == .v4 ? 24 : 64)
    }

    /// The causes of a changed way to an address.
    private static func causes(
        _ old: NetworkSnapshot,
        _ new: NetworkSnapshot,
        _ target: String,
        at location: SourceLocation = #_sourceLocation
    ) throws -> [NetworkDifference] {
        let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(new))
        let address = try #require(IPAddress(target))
        #expect(new.way(target) != comparison.old.snapshot.way(target), sourceLocation: location)
        return comparison.causes(of: [RouteQuery(destination: address)])
    }

    // MARK: One step each

    /// A change of the host and the kinds of differences that explain what became of an address.
    struct Step: Sendable, CustomTestStringConvertible {
        let name: String
        let changes: [NetworkChange]
        var target = "198.51.100.7"
        let causes: [String]

        var testDescription: String { name }
    }

    static let steps: [Step] = [
        Step(
            name: "a withdrawn default route",
            changes: [.removedRoute(route("0.0.0.0/0", via: "192.0.2.254", dev: 2))],
            causes: ["route removed"]),
        Step(
            name: "a better route",
            changes: [.route("198.51.100.0/24", via: "203.0.113.254", dev: 3)], causes: ["route added"]),
        Step(
            name: "another gateway",
            changes: [.route("0.0.0.0/0", via: "192.0.2.253", dev: 2, .replacing)], causes: ["route changed"]),
        Step(
            name: "a rule that drops packets",
            changes: [
                .rule(.v4, 9, .blackhole) { $0.destination = NetworkChange.parsed("198.51.100.0/24") },
                .rule(.v4, 10, .blackhole) { $0.destination = NetworkChange.parsed("192.88.99.0/24") },
            ],
            causes: ["rule added"]),
        Step(
            name: "an interface that was set down, with the routes that the kernel drops silently",
            changes: [.link(LinkReport(Link(index: 2, name: "eth0", flags: [])))], causes: ["link changed"]),
        Step(name: "a removed interface", changes: [.removedLink(index: 2)], causes: ["link removed"]),
        Step(
            name: "the last address of an interface",
            changes: [
                .removedAddress(address("192.0.2.1", on: 2)),
                .removedRoute(route("192.0.2.0/24", dev: 2) { $0.madeByKernel("192.0.2.1") }),
            ],
            causes: ["address removed"]),
        Step(
            name: "a route that comes with its interface, address and network",
            changes: [
                .link(LinkReport(Link(index: 4, name: "eth2"))), .address(address("192.88.99.1", on: 4)),
                .route("192.88.99.0/24", dev: 4) { $0.madeByKernel("192.88.99.1") },
                .route("198.51.100.0/24", via: "192.88.99.254", dev: 4),
            ],
            causes: ["route added"]),
        Step(
            name: "the network of a new address",
            changes: [
                .address(address("198.51.100.1", on: 3)),
                .route("198.51.100.0/24", dev: 3) { $0.madeByKernel("198.51.100.1") },
            ],
            causes: ["address added"]),
        Step(
            name: "two routes that go one after the other",
            changes: [
                .removedRoute(route("10.0.0.0/8", via: "203.0.113.254", dev: 3)),
                .removedRoute(route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
            ],
            target: "10.1.2.3", causes: ["route removed"]),
        Step(
            name: "a rule and a route that both drop packets",
            changes: [
                .rule(.v4, 9, .blackhole),
                .removedRoute(route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
            ],
            causes: ["route removed", "rule added"]),
        Step(
            name: "rules, routes and neighbours among which one rule matters",
            changes: (0..<200).map { number in
                .route("10.\(number).0.0/16", via: "192.0.2.254", dev: 2)
            }
                + (0..<70).map { number in
                    .rule(.v4, 100 + number, .blackhole) { $0.mark = Masked(number + 1) }
                } + [.rule(.v4, 9, .unreachable)]
                + (2..<90).map { number in
                    .neighbour(
                        Neighbour(
                            interfaceIndex: 2, address: IPAddress(192, 0, 2, number), state: .failed))
                },
            causes: ["rule added"]),
    ]

    private static func route(
        _ prefix: String,
        via gateway: String? = nil,
        dev interface: UInt32,
        change: (inout Route) -> Void = { _ in }
    ) -> Route {
        guard
            case .route(let route, _) = NetworkChange.route(
                prefix, via: gateway, dev: interface, change: change)
        else { preconditionFailure("no route") }
        return route
    }

    @Test(arguments: steps) func `a step is explained by its own change and nothing else`(_ step: Step) throws
    {
        let old = Self.host()
        var new = old
        for change in step.changes { new.apply(change) }
        #expect(try Self.causes(old, new, step.target).map(\.words).sorted() == step.causes)
        // And back.
        #expect(try !Self.causes(new, old, step.target).isEmpty)
    }

    @Test func `equal states have no differences, whatever counts down`() {
        let old = Self.host(.route("10.9.0.0/16", dev: 2) { $0.expires = 500 })
        var new = Self.host(.route("10.9.0.0/16", dev: 2) { $0.expires = 300 })
        #expect(old.differences(to: new).isEmpty)
        new.clock += 400
        #expect(old.differences(to: new).map(\.words) == ["route changed"])
    }

    /// The answers had differed, and nothing else.
    @Test func `a route that comes behind another of its metric has changed`() throws {
        let first = Self.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)
        let other = NetworkChange.route("0.0.0.0/0", via: "203.0.113.254", dev: 3)
        let far = NetworkChange.route("0.0.0.0/0", via: "203.0.113.9", dev: 3, metric: 9)
        let old = Self.host(other, far)
        let new = Self.host(other, far, .removedRoute(first), .route(first, .last))
        let found = try Self.causes(old, new, "198.51.100.7")
        #expect(found == [.route(.init(old: first, new: first))])
        #expect(old.differences(to: old).isEmpty)
    }

    @Test func `interfaces that have other indexes are compared by their names`() throws {
        let old = Self.host()
        var new = makeHost(
            .removedLink(index: 2), .removedLink(index: 3),
            .link(LinkReport(Link(index: 7, name: "eth1", settings: RoutingSettings(ipv6Forwards: false)))),
            .link(LinkReport(Link(index: 3, name: "eth0", settings: RoutingSettings(ipv6Forwards: false)))),
            .address(Self.address("192.0.2.1", on: 3)), .address(Self.address("203.0.113.1", on: 7)),
            .route("192.0.2.0/24", dev: 3) { $0.madeByKernel("192.0.2.1") },
            .route("203.0.113.0/24", dev: 7) { $0.madeByKernel("203.0.113.1") },
            .route("0.0.0.0/0", via: "192.0.2.254", dev: 3),
            .route("10.0.0.0/8", via: "203.0.113.254", dev: 7)
        )
        #expect(NetworkComparison(SnapshotRouting(old), SnapshotRouting(new)).differences.isEmpty)
        new.apply(.rule(.v4, 9, .blackhole))
        #expect(try Self.causes(old, new, "198.51.100.7").map(\.words) == ["rule added"])
    }

    // The next index after the largest one ended the program with a trap.
    @Test func `an interface with the last index that a number holds leaves indexes free`() {
        let old = Self.host(
            .removedLink(index: 2), .link(LinkReport(Link(index: 7, name: "eth0"))),
            .link(LinkReport(Link(index: 2, name: "fresh"))),
            .link(LinkReport(Link(index: .max, name: "last"))))
        let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(Self.host()))
        #expect(comparison.differences.count >= 2)
    }

    @Test func `a VLAN and the other end of a veth follow the interface that was set down`() throws {
        let carrierless: LinkFlags = [.up]
        func peer(_ flags: LinkFlags, _ state: OperationalState) -> NetworkChange {
            .link(
                LinkReport(
                    Link(
                        index: 2, name: "eth0", flags: flags, operationalState: state,
                        carrier: state == .up, kind: "veth", lower: 9)))
        }
        func vlan(_ flags: LinkFlags) -> NetworkChange {
            .link(LinkReport(Link(index: 5, name: "eth0.5", flags: flags, kind: "vlan", lower: 2)))
        }
        func far(_ flags: LinkFlags) -> NetworkChange {
            .link(LinkReport(Link(index: 9, name: "far", flags: flags, kind: "veth", lower: 2)))
        }
        let all: LinkFlags = [.up, .running, .lowerUp]
        let old = Self.host(peer(all, .up), vlan(all), far(all))
        var new = old
        for change in [far([]), peer(carrierless, .lowerLayerDown), vlan(carrierless)] { new.apply(change) }
        let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(new))
        var query = RouteQuery(destination: IPAddress(198, 51, 100, 7))
        query.outputInterface = 5
        #expect(comparison.causes(of: [query]).compactMap(\.interface) == ["far"])
    }

    // MARK: Many differences

    /// Rules of each priority that do nothing to packets to 198.51.100.7, and what selects other ones.
    static let rules: [(name: String, change: @Sendable (UInt32) -> NetworkChange)] = [
        ("another mark", { .rule(.v4, $0, .blackhole) { $0.mark = Masked(7) } }),
        (
            "another destination",
            { .rule(.v4, $0, .blackhole) { $0.destination = NetworkChange.parsed("10.0.0.0/8") } }
        ),
        ("another source", { .rule(.v4, $0, .blackhole) { $0.source = NetworkChange.parsed("10.0.0.0/8") } }),
        ("an empty table", { .rule(.v4, $0, .lookup(table: 1000 + $0)) }),
        ("another family", { .rule(.v6, $0, .blackhole) }),
        ("no action", { .rule(.v4, $0, .nop) }),
    ]

    @Test(arguments: rules) func `one of four hundred rules is found`(
        name: String, change: @Sendable (UInt32) -> NetworkChange
    ) throws {
        let old = Self.host()
        var new = old
        for number in 0..<400 { new.apply(change(UInt32(100 + number))) }
        new.apply(.rule(.v4, 300, .unreachable))
        #expect(
            try Self.causes(old, new, "198.51.100.7") == [
                .rule(.init(old: nil, new: Rule(family: .v4, priority: 300, action: .unreachable)))
            ])
    }

    @Test func `of four hundred rules that all drop packets the first one is named`() throws {
        let old = Self.host()
        var new = old
        for number in 0..<400 { new.apply(.rule(.v4, UInt32(100 + number), .blackhole)) }
        #expect(
            try Self.causes(old, new, "198.51.100.7") == [
                .rule(.init(old: nil, new: Rule(family: .v4, priority: 100, action: .blackhole)))
            ])
    }

    @Test func `an address that only is the source of a packet is found`() throws {
        let new = Self.host()
        var old = new
        old.apply(.removedAddress(Self.address("203.0.113.1", on: 3)))
        let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(new))
        var query = RouteQuery(destination: IPAddress(198, 51, 100, 7))
        query.source = IPAddress(203, 0, 113, 1)
        #expect(comparison.causes(of: [query]).map(\.words) == ["address added"])
    }

    @Test func `differences that no query reads are no causes`() throws {
        let comparison = NetworkComparison(
            SnapshotRouting(Self.host()), SnapshotRouting(Self.host(.rule(.v6, 9, .blackhole))))
        let query = RouteQuery(destination: IPAddress(198, 51, 100, 7))
        #expect(comparison.causes(of: [query]).isEmpty)
    }

    // MARK: Random states

    @Test func `each other way in random states has a cause`() {
        var numbers = SeededGenerator(seed: 14)
        for _ in 0..<100 {
            let old = Self.randomHost(&numbers)
            var new = old
            for _ in 0..<Int.random(in: 1...12, using: &numbers) { new.apply(Self.randomChange(&numbers)) }
            let comparison = NetworkComparison(SnapshotRouting(old), SnapshotRouting(new))
            for last in 0..<8 as Range<UInt8> {
                let target = IPAddress(10, last, 0, 1)
                guard new.way("\(target)") != comparison.old.snapshot.way("\(target)") else { continue }
                #expect(!comparison.causes(of: [RouteQuery(destination: target)]).isEmpty)
            }
        }
    }

    private static func randomHost(_ numbers: inout SeededGenerator) -> NetworkSnapshot {
        var host = Self.host()
        for _ in 0..<20 { host.apply(randomChange(&numbers)) }
        return host
    }

    private static func randomChange(_ numbers: inout SeededGenerator) -> NetworkChange {
        let octet = UInt8.random(in: 0..<8, using: &numbers)
        let interface = UInt32.random(in: 2...4, using: &numbers)
        let metric = UInt32.random(in: 0...1, using: &numbers) * 100
        switch Int.random(in: 0..<9, using: &numbers) {
        case 0: return .link(LinkReport(Link(index: interface, name: "eth\(interface - 2)")))
        case 1: return .link(LinkReport(Link(index: interface, name: "eth\(interface - 2)", flags: [.up])))
        case 2: return .removedLink(index: interface)
        case 3: return .address(address("10.\(octet).0.1", on: interface))
        case 4: return .removedAddress(address("10.\(octet).0.1", on: interface))
        case 5: return .rule(.v4, UInt32(octet), .lookup(table: 100))
        case 6: return .removedRule(Rule(family: .v4, priority: UInt32(octet), action: .lookup(table: 100)))
        case 7: return .removedRoute(route("10.\(octet).0.0/16", via: "192.0.2.254", dev: interface))
        default:
            return .route("10.\(octet).0.0/16", via: "192.0.2.254", dev: interface, metric: metric, .first)
        }
    }
}

extension NetworkDifference {
    /// What differs and how, in two words.
    fileprivate var words: String {
        switch self {
        case .link: "link \(kind)"
        case .address: "address \(kind)"
        case .nexthop: "nexthop \(kind)"
        case .route: "route \(kind)"
        case .rule: "rule \(kind)"
        case .neighbour: "neighbour \(kind)"
        case .settings: "settings \(kind)"
        }
    }

    /// The name of the interface that differs.
    fileprivate var interface: String? {
        if case .link(let change) = self { change.latest?.name } else { nil }
    }
}

extension Route {
    /// Makes it a route that the kernel makes for an address.
    fileprivate mutating func madeByKernel(_ source: String) {
        origin = 2
        scope = .link
        preferredSource = IPAddress(source)
    }
}
