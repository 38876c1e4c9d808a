// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording

/// Which event of a burst changed an answer, over tables without a kernel.
struct CauseSearchTests {
    private typealias Trace = AnswerTrace<ReachabilityReport>

    /// A host with two ways out, a rule for a table of its own, and a nexthop object.
    private static func host() -> NetworkSnapshot {
        makeHost(
            .address(own("192.0.2.1", 24, on: 2)), .address(own("203.0.113.1", 24, on: 3)),
            .route("192.0.2.0/24", dev: 2) { $0.isOfKernel(from: "192.0.2.1") },
            .route("203.0.113.0/24", dev: 3) { $0.isOfKernel(from: "203.0.113.1") },
            .route("0.0.0.0/0", via: "192.0.2.254", dev: 2),
            .route("0.0.0.0/0", via: "203.0.113.254", dev: 3) { $0.table = 77 },
            .rule(.v4, 100, .lookup(table: 77)) { $0.destination = IPPrefix("10.3.0.0/16") },
            .nexthop(NexthopObject(id: 9, kind: .single(Nexthop(interfaceIndex: 2, gateway: "192.0.2.9")))),
            .route("10.2.0.0/16", via: "192.0.2.9", dev: 2) { $0.nexthopID = 9 })
    }

    private static func own(_ text: IPAddress, _ length: UInt8, on interface: UInt32) -> InterfaceAddress {
        InterfaceAddress(interfaceIndex: interface, address: text, prefixLength: length)
    }

    private static func link(_ index: UInt32, _ name: String, _ flags: LinkFlags) -> NetworkChange {
        .link(LinkReport(Link(index: index, name: name, flags: flags)))
    }

    private static func removed(_ change: NetworkChange) -> NetworkChange {
        if case .route(let route, _) = change { .removedRoute(route) } else { change }
    }

    /// A trace of targets, of which the network is as at the beginning.
    private static func trace(
        _ targets: [String], in network: NetworkSnapshot,
        onChangeOf changes: ReachabilityReport.Change = .report
    ) throws -> Trace {
        var trace = Trace(
            try targets.map { .report(of: try .host($0), .full, onChangeOf: changes) })
        trace.evaluate(Array(targets.indices), on: RecordedRouting(SnapshotRouting(network)))
        return trace
    }

    /// Applies the changes of a burst, whose events are described by their places.
    private static func play(
        _ changes: [NetworkChange], _ trace: inout Trace, _ search: inout CauseSearch,
        in network: inout NetworkSnapshot
    ) {
        for (place, change) in changes.enumerated() {
            let touched = search.touched(by: change, &trace, in: network)
            let event = Recording.Event(
                time: Recording.Time(microsecondsSince1970: Int64(place)), subject: .settings,
                isRemoval: false, origin: .unknown, description: "\(place)", change: change)
            search.record(event, touching: touched)
            network.apply(change)
            search.evaluate(&trace, on: RecordedRouting(SnapshotRouting(network)))
        }
    }

    // MARK: Recorded

    struct Burst: Sendable, CustomTestStringConvertible {
        let name: String
        var target = "198.51.100.7"
        var changes = ReachabilityReport.Change.report
        let events: [NetworkChange]
        /// The place of the event that gave the target its last answer; `nil` if none did.
        let cause: Int?

        var testDescription: String { name }
    }

    static let bursts: [Burst] = [
        Burst(
            name: "the route of another table and of another prefix are not it",
            events: [
                removed(.route("0.0.0.0/0", via: "203.0.113.254", dev: 3) { $0.table = 77 }),
                .route("10.9.0.0/16", via: "203.0.113.254", dev: 3),
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)), link(3, "eth1", []),
            ], cause: 2),
        Burst(
            name: "a less preferred route before the loss changes nothing",
            events: [
                .route("0.0.0.0/0", via: "203.0.113.254", dev: 3, metric: 900),
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
            ], cause: 1),
        Burst(
            name: "of a loss that has two causes the first one is named", changes: .flags,
            events: [removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)), link(2, "eth0", [])],
            cause: 0),
        Burst(
            name: "a report counts the reason, which the second one gave",
            events: [
                link(2, "eth0", [.up]), removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
            ], cause: 1),
        Burst(
            name: "a flap within the burst that ends as it began is no change",
            events: [
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
                .route("0.0.0.0/0", via: "192.0.2.254", dev: 2),
            ], cause: nil),
        Burst(
            // It had been the first one, which was repaired.
            name: "of a loss that was interrupted the event is named after which it stays",
            events: [
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
                .route("0.0.0.0/0", via: "192.0.2.254", dev: 2),
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
            ], cause: 2),
        Burst(
            name: "a removal that was repaired is not the cause of what the interface does", changes: .flags,
            events: [
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
                .route("0.0.0.0/0", via: "192.0.2.254", dev: 2), link(2, "eth0", []),
            ], cause: 2),
        Burst(
            name: "the rule that sends the target elsewhere, and not that for other addresses",
            events: [
                .rule(.v4, 90, .prohibit) { $0.destination = IPPrefix("10.9.0.0/16") },
                .rule(.v4, 91, .prohibit) { $0.destination = IPPrefix("198.51.100.0/24") },
            ], cause: 1),
        Burst(
            name: "the table of a rule counts", target: "10.3.0.1",
            events: [
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
                .route("0.0.0.0/0", via: "203.0.113.9", dev: 3, .replacing) { $0.table = 77 },
            ], cause: 1),
        Burst(
            name: "the nexthop object of the route, and no other", target: "10.2.0.1",
            events: [
                .nexthop(
                    NexthopObject(id: 8, kind: .single(Nexthop(interfaceIndex: 3, gateway: "203.0.113.9")))),
                .nexthop(
                    NexthopObject(id: 9, kind: .single(Nexthop(interfaceIndex: 3, gateway: "203.0.113.9")))),
            ], cause: 1),
        Burst(
            name: "the interface of the route, and not the other one",
            events: [link(3, "eth1", []), link(2, "eth0", [])], cause: 1),
        Burst(
            name: "a route that comes up with an interface which the answer did not read",
            events: [
                removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)),
                .route("198.51.100.0/24", via: "203.0.113.9", dev: 3), link(3, "eth1", []),
                link(3, "eth1", [.up, .running, .lowerUp]),
                .route("198.51.100.0/24", via: "203.0.113.9", dev: 3),
            ], cause: 4),
        Burst(
            name: "what the kernel does to the routes of an address is the address's", target: "198.51.101.9",
            events: [
                .address(own("198.51.101.1", 24, on: 3)),
                .route("198.51.101.0/24", dev: 3) { $0.isOfKernel(from: "198.51.101.1") },
            ], cause: 0),
        Burst(
            name: "the route of an address that comes before it, too", target: "2001:db8:7::9",
            changes: .flags,
            events: [
                .address(own("2001:db8:8::1", 64, on: 2)),
                .route("2001:db8:7::/64", dev: 3) { $0.origin = Route.kernelOrigin },
                .address(own("2001:db8:7::1", 64, on: 3)),
            ], cause: 2),
        Burst(
            name: "a route of a program beside a new address is the program's", target: "198.51.101.9",
            events: [
                .address(own("198.51.101.1", 24, on: 3)), .route("198.51.101.0/24", dev: 3),
            ], cause: 1),
    ]

    @Test(arguments: bursts)
    func `the event after which the answer stays that of the end of the burst`(burst: Burst) throws {
        var network = Self.host()
        var trace = try Self.trace([burst.target], in: network, onChangeOf: burst.changes)
        let before = try #require(trace.answer(to: 0))
        var search = CauseSearch()
        Self.play(burst.events, &trace, &search, in: &network)
        let answer = try #require(trace.answer(to: 0))
        let isChange = try !answer.get().isSame(as: before.get(), burst.changes)
        #expect(isChange == (burst.cause != nil))
        guard isChange else { return }
        let found = trace.lastStep(of: 0, to: answer).flatMap { search.cause($0.event)?.event.description }
        #expect(found == burst.cause.map { "\($0)" })
    }

    @Test(arguments: bursts)
    func `the cause of a target is the same alone and with nine others`(burst: Burst) throws {
        let others = [
            "10.2.0.1", "10.3.0.1", "10.9.0.1", "192.0.2.9", "203.0.113.9", "192.0.2.1", "198.51.101.9",
            "8.8.8.8",
            "198.51.100.8",
        ]
        var (alone, both) = (Self.host(), Self.host())
        var one = try Self.trace([burst.target], in: alone, onChangeOf: burst.changes)
        var ten = try Self.trace(others + [burst.target], in: both, onChangeOf: burst.changes)
        var searches = (CauseSearch(), CauseSearch())
        Self.play(burst.events, &one, &searches.0, in: &alone)
        Self.play(burst.events, &ten, &searches.1, in: &both)
        let answer = try #require(one.answer(to: 0))
        #expect(ten.answer(to: others.count) == answer)
        let causes = (
            one.lastStep(of: 0, to: answer).flatMap { searches.0.cause($0.event)?.event },
            ten.lastStep(of: others.count, to: answer).flatMap { searches.1.cause($0.event)?.event }
        )
        #expect(causes.0 == causes.1)
    }

    /// It made ten million evaluations of a thousand targets.
    @Test func `events that touch nothing that was read cost no evaluation`() throws {
        var network = Self.host()
        let targets = (0..<50).map { "198.51.100.\($0)" }
        var trace = try Self.trace(targets, in: network)
        var search = CauseSearch()
        let events = (0..<100).flatMap { number -> [NetworkChange] in
            let index = UInt32(10 + number)
            return [
                Self.link(index, "veth\(number)", [.up]), .address(Self.own("10.200.0.1", 32, on: index)),
                .route("10.\(number % 200).0.0/16", dev: index),
                .rule(.v4, 500, .lookup(table: 99)) { $0.source = IPPrefix("10.0.0.0/8") },
                .nexthop(NexthopObject(id: index, kind: .single(Nexthop(interfaceIndex: index)))),
                .removedLink(index: index),
            ]
        }
        Self.play(events, &trace, &search, in: &network)
        #expect(targets.indices.allSatisfy { trace.evaluations(of: $0) == 1 })
    }

    // MARK: Live

    struct Touch: Sendable, CustomTestStringConvertible {
        let name: String
        var target = "198.51.100.7"
        let event: NetworkChange
        let isTouching: Bool

        var testDescription: String { name }
    }

    static let touches: [Touch] = [
        Touch(name: "its route", event: .route("0.0.0.0/0", via: "192.0.2.9", dev: 2), isTouching: true),
        Touch(
            name: "a longer prefix over it", event: .route("198.51.100.0/24", via: "192.0.2.9", dev: 2),
            isTouching: true),
        Touch(
            name: "another prefix", event: .route("10.9.0.0/16", via: "192.0.2.9", dev: 2), isTouching: false),
        Touch(
            name: "a rule for it",
            event: .rule(.v4, 9, .lookup(table: 77)) { $0.destination = IPPrefix("198.51.100.0/24") },
            isTouching: true),
        Touch(
            name: "a rule for others",
            event: .rule(.v4, 9, .prohibit) { $0.destination = IPPrefix("10.9.0.0/16") },
            isTouching: false),
        Touch(
            name: "a rule for a mark", event: .rule(.v4, 9, .prohibit) { $0.mark = Masked(9) },
            isTouching: false),
        Touch(name: "a rule of IPv6", event: .rule(.v6, 9, .prohibit), isTouching: false),
        Touch(
            name: "a rule for a table without routes", event: .rule(.v4, 9, .lookup(table: 5)),
            isTouching: false),
        Touch(name: "its interface", event: link(2, "eth0", [.up]), isTouching: true),
        Touch(name: "an interface of no route over it", event: link(9, "eth9", []), isTouching: false),
        Touch(
            name: "an address of its interface", event: .address(own("192.0.2.7", 24, on: 2)),
            isTouching: true),
        Touch(name: "an address elsewhere", event: .address(own("10.9.0.1", 24, on: 9)), isTouching: false),
        Touch(name: "the address itself", event: .address(own("198.51.100.7", 32, on: 9)), isTouching: true),
        Touch(
            name: "its nexthop object", target: "10.2.0.1", event: .removedNexthop(id: 9), isTouching: true),
        Touch(
            name: "another nexthop object", target: "10.2.0.1", event: .removedNexthop(id: 8),
            isTouching: false),
    ]

    @Test(arguments: touches)
    func `an event touches an answer that has read what it changes`(touch: Touch) throws {
        let network = Self.host()
        var trace = try Self.trace([touch.target], in: network)
        var search = CauseSearch()
        #expect(search.touched(by: touch.event, &trace, in: network).isEmpty == !touch.isTouching)
    }

    @Test func `an answer of the kernel that the tables have is of the event after which they keep it`()
        throws
    {
        var network = Self.host()
        var trace = try Self.trace(["198.51.100.7"], in: network)
        var search = CauseSearch(keepsTouches: true)
        let loss = Self.removed(.route("0.0.0.0/0", via: "192.0.2.254", dev: 2))
        let other = NetworkChange.route("0.0.0.0/0", via: "192.0.2.9", dev: 2)
        Self.play(
            [loss, other, .route("0.0.0.0/0", via: "192.0.2.8", dev: 2, metric: 9)], &trace, &search,
            in: &network)
        let last = try #require(trace.answer(to: 0))
        #expect(search.causes(of: last, to: 0, &trace).map(\.description) == ["1"])
        // It does not count again, nor does what came before it: the third one is left, which changed nothing.
        var elsewhere = network
        elsewhere.apply(.route("198.51.100.0/24", via: "192.0.2.77", dev: 2))
        let unknown = try #require(try Self.trace(["198.51.100.7"], in: elsewhere).answer(to: 0))
        #expect(search.causes(of: unknown, to: 0, &trace).map(\.description) == ["2"])
        #expect(search.causes(of: unknown, to: 0, &trace).isEmpty)
    }

    @Test func `an answer of the kernel that the tables never have is of one of the events that touch it`()
        throws
    {
        var network = Self.host()
        var elsewhere = network
        elsewhere.apply(.route("198.51.100.0/24", via: "192.0.2.77", dev: 2))
        let unknown = try #require(try Self.trace(["198.51.100.7"], in: elsewhere).answer(to: 0))
        var trace = try Self.trace(["198.51.100.7"], in: network)
        var search = CauseSearch(keepsTouches: true)
        Self.play(
            [
                .route("10.9.0.0/16", via: "192.0.2.9", dev: 2),
                .route("0.0.0.0/0", via: "192.0.2.9", dev: 2, metric: 7),
                Self.link(9, "eth9", []), Self.link(2, "eth0", [.up]),
            ], &trace, &search, in: &network)
        #expect(search.causes(of: unknown, to: 0, &trace).map(\.description) == ["1", "3"])
    }
}

extension Route {
    /// Makes the route one that the kernel has for an address.
    fileprivate mutating func isOfKernel(from source: IPAddress) {
        (origin, scope, preferredSource) = (Route.kernelOrigin, .link, source)
    }
}
