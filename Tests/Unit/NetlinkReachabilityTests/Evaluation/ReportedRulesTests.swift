// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import Testing

/// The rules that a report names, and what `egress` says where they are not known.
struct ReportedRulesTests {
    private static let route = NetworkChange.route("0.0.0.0/0", via: "192.0.2.254", dev: 2)

    /// A host with 192.0.2.1 on eth0 and 198.51.100.1 on eth1.
    private func source(_ changes: NetworkChange...) -> NetworkSource {
        var host = makeHost()
        for (index, address) in [(2, IPAddress("192.0.2.1")), (3, IPAddress("198.51.100.1"))] {
            host.apply(
                .address(InterfaceAddress(interfaceIndex: UInt32(index), address: address, prefixLength: 24)))
        }
        for change in changes { host.apply(change) }
        return NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
    }

    private func rules(_ source: NetworkSource) throws -> ReachabilityReport.Rules? {
        let target = NetworkReachability(target: .address("203.0.113.7"), source: source)
        return try target.blockingReport().rules
    }

    @Test func `a rule of which the user is not known leaves undecided which one decides, but not the table`()
        throws
    {
        let source = source(
            Self.route, .rule(.v4, 100, .lookup(table: 254)) { $0.users = 1_000...1_000 })
        let found = try #require(try rules(source))
        #expect(found.deciding == nil)
        #expect(found.table == 254)
        #expect(found.undecided.map(\.priority) == [100, 32_766])
        let egress = NetworkQuery.egress(of: .address("203.0.113.7"), through: "eth1")
        #expect(throws: ReachabilityError.self) { try source.blockingValue(of: egress) }
    }

    @Test func `a rule with a selector that is not known counts only where it could have decided`() throws {
        let found = try #require(
            try rules(
                source(
                    Self.route,
                    .rule(.v4, 90, .prohibit) {
                        $0.hasUnknownSelector = true
                        $0.mark = Masked(7)
                    },
                    .rule(.v4, 100, .lookup(table: 77)))))
        #expect(found.deciding?.priority == 32_766)
        #expect(found.passed.map(\.priority) == [0, 100])
        #expect(found.undecided.isEmpty)
    }

    @Test func `without a route no rule decides, and a brief report has none`() throws {
        let source = source(.rule(.v4, 100, .lookup(table: 77)))
        let found = try #require(try rules(source))
        #expect(found.deciding == nil && found.table == nil)
        #expect(found.passed.map(\.priority) == [0, 100, 32_766, 32_767])
        let target = NetworkReachability(target: .address("203.0.113.7"), source: source)
        #expect(try target.blockingReport(.brief).rules == nil)
    }

    @Test func `a suppressed table is passed, and the same table decides by a later rule`() throws {
        let found = try #require(
            try rules(
                source(Self.route, .rule(.v4, 100, .lookup(table: 254)) { $0.suppressedPrefixLength = 0 })))
        #expect(found.deciding?.priority == 32_766)
        #expect(found.passed.map(\.priority) == [0, 100])
    }

    @Test func `a bound socket and an interface without a carrier are obstacles`() throws {
        var options = ReachabilityOptions()
        options.interface = "eth0"
        let target = ReachabilityTarget.address("203.0.113.7")
        let bound = NetworkQuery.egress(of: target, through: "eth1", options: options)
        #expect(try source(Self.route).blockingValue(of: bound).obstacle == .binding)
        let dead = NetworkChange.route(
            "0.0.0.0/0", nexthops: [Nexthop(interfaceIndex: 3, flags: [.dead, .linkDown])])
        let egress = NetworkQuery.egress(of: target, through: "eth1")
        #expect(
            try source(dead, .route("0.0.0.0/0", dev: 2, metric: 9)).blockingValue(of: egress).obstacle
                == .noCarrier)
    }

    /// The rule that refuses was left out, and the rule that points to it was passed over.
    @Test func `a route that a goto skips is for other packets, also if the goto leads to a refusal`() throws
    {
        let source = source(
            Self.route, .route("0.0.0.0/0", dev: 3) { $0.table = 77 },
            .rule(.v4, 9, .goto(priority: 100)), .rule(.v4, 50, .lookup(table: 77)),
            .rule(.v4, 100, .prohibit))
        let egress = NetworkQuery.egress(of: .address("203.0.113.7"), through: "eth1")
        #expect(try source.blockingValue(of: egress).obstacle == .selector)
    }

    /// Such a route was said to have no carrier.
    @Test func `why the kernel does not use a route whose interface can send is undecided`() throws {
        let used = Route(destination: "0.0.0.0/0", nexthops: [Nexthop(interfaceIndex: 2)])
        var unused = Route(destination: "0.0.0.0/0", nexthops: [Nexthop(interfaceIndex: 3)])
        unused.table = 77
        var answers = ScriptedAnswers(interfaces: [.ethernet(2), .ethernet(3)])
        answers.bySource[nil] = .success(
            RouteAnswer.taken(RouteMatch(.unicast, used.nexthops)).with { $0.entry = used })
        answers.policyRules = [
            Rule(family: .v4, priority: 9, action: .lookup(table: 77)),
            Rule(family: .v4, priority: 32_766, action: .lookup(table: 254)),
        ]
        answers.routes = [used, unused]
        let source = NetworkSource(routing: answers, resolver: ScriptedResolver())
        let egress = NetworkQuery.egress(of: .address("203.0.113.7"), through: InterfaceReference(index: 3))
        let error = #expect(throws: ReachabilityError.self) { try source.blockingValue(of: egress) }
        #expect(error?.code == .undecided)
    }

    @Test func `a rule with another selector is no standard one, and has it in words`() throws {
        let selectors: [(String, (inout Rule) -> Void)] = [
            ("from all dscp 46 lookup main", { $0.dscp = Masked(46) }),
            ("from all tun_id 7 lookup main", { $0.tunnelID = 7 }),
            ("from all [unknown selector] lookup main", { $0.hasUnknownSelector = true }),
        ]
        for (words, select) in selectors {
            var rule = Rule(family: .v4, priority: 32_766, action: .lookup(table: 254))
            select(&rule)
            #expect(rule.words == words)
        }
    }
}
