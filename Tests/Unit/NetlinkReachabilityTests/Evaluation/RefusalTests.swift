// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import Testing

/// What refuses a packet, as a table: rules and routes, and the reason.
///
/// An errno does not tell a rule from a missing route: both were "no route".
struct RefusalTests {
    /// A route of a type that sends nothing.
    private static func route(_ prefix: String, _ type: RouteType, table: UInt32 = 254) -> NetworkChange {
        .route(prefix, nexthops: []) { ($0.type, $0.table) = (type, table) }
    }

    private static func toTarget(_ rule: inout Rule) {
        rule.destination = IPPrefix("198.51.100.0/24")
    }

    @Test(
        arguments: [
            ([], .noRoute, "no route"),
            ([route("198.51.0.0/16", .throw)], .noRoute, "no route"),
            (
                [.rule(.v4, 100, .unreachable, change: toTarget)], .refusedByRule,
                "the rule 100 (to 198.51.100.0/24) says unreachable"
            ),
            ([.rule(.v4, 100, .prohibit)], .refusedByRule, "the rule 100 prohibits it"),
            ([.rule(.v4, 100, .blackhole)], .refusedByRule, "the rule 100 drops it (blackhole)"),
            // Rules of others.
            ([.rule(.v6, 100, .unreachable)], .noRoute, "no route"),
            ([.rule(.v4, 100, .unreachable) { $0.mark = Masked(7) }], .noRoute, "no route"),
            ([.rule(.v4, 100, .unreachable) { $0.source = IPPrefix("10.0.0.0/8") }], .noRoute, "no route"),
            (
                [.rule(.v4, 100, .unreachable) { ($0.mark, $0.isInverted) = (Masked(7), true) }],
                .refusedByRule, "the rule 100 says unreachable"
            ),
            // One that is passed over.
            (
                [
                    .rule(.v4, 90, .goto(priority: 200)), .rule(.v4, 100, .prohibit),
                    .rule(.v4, 200, .unreachable),
                ], .refusedByRule, "the rule 200 says unreachable"
            ),
            (
                [route("198.51.0.0/16", .unreachable)], .unreachable,
                "the route 198.51.0.0/16 in table main says unreachable"
            ),
            (
                [route("0.0.0.0/0", .blackhole), route("198.51.0.0/16", .prohibit)], .prohibited,
                "the route 198.51.0.0/16 in table main prohibits it"
            ),
            // A route of an earlier table, and a rule with the same errno.
            (
                [
                    route("0.0.0.0/0", .prohibit, table: 100), .rule(.v4, 90, .lookup(table: 100)),
                    .rule(.v4, 95, .prohibit),
                ], .prohibited, "the route 0.0.0.0/0 in table 100 prohibits it"
            ),
            (
                [
                    route("198.51.100.0/24", .throw, table: 100), route("0.0.0.0/0", .prohibit, table: 100),
                    .rule(.v4, 90, .lookup(table: 100)), .rule(.v4, 95, .prohibit),
                ], .refusedByRule, "the rule 95 prohibits it"
            ),
        ] as [([NetworkChange], ReachabilityReason.Code, String)])
    func `the reason names the rule or the route that refuses`(
        changes: [NetworkChange], code: ReachabilityReason.Code, words: String
    ) throws {
        var host = makeHost()
        for change in changes { host.apply(change) }
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let target = NetworkReachability(target: .address("198.51.100.7"), source: source)
        let reason = try target.blockingReport(.brief).reason
        #expect(reason.code == code && reason.description == words)
        #expect(try target.blockingReport().reason == reason)
    }

    @Test func `a rule that refuses the default path is named, too`() throws {
        let host = makeHost(.route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .rule(.v4, 100, .unreachable))
        let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
        let path = NetworkReachability(target: .defaultPath, source: source)
        #expect(try path.blockingReport(.brief).reason.description == "the rule 100 says unreachable")
    }

    @Test func `a rule for users is named where the user is known`() throws {
        var host = makeHost(.rule(.v4, 100, .unreachable) { $0.users = 1_000...1_000 })
        for (user, code) in [
            (1_000, ReachabilityReason.Code.refusedByRule), (1_001, .noRoute),
        ] as [(UInt32, ReachabilityReason.Code)] {
            host.askingUser = user
            let source = NetworkSource(routing: SnapshotRouting(host), resolver: ScriptedResolver())
            let target = NetworkReachability(target: .address("198.51.100.7"), source: source)
            #expect(try target.blockingReport(.brief).reason.code == code)
        }
    }
}
