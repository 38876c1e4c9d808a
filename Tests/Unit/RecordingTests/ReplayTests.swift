// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording
import RoutingModel
import Testing

/// The first dump of each scenario with the notifications after it, compared with the later dumps.
struct ReplayTests {
    /// Changes without a notification, which a replay cannot know.
    private static let unannounced: [(reason: String, network: String, line: @Sendable (String) -> Bool)] = [
        (
            "an IPv6 address has its notification after duplicate address detection, but is in dumps before",
            "", { $0.hasPrefix("- address") && $0.contains(" tentative") }
        )
    ]

    @Test(arguments: RecordedNetwork.scenarios)
    func `notifications reproduce every later dump, except for changes without a notification`(
        scenario: RecordedScenario
    ) throws {
        try scenario.replay { network, replayed in
            let dumped = try network.snapshot()
            let lines = Differences(replayed, dumped).lines.filter { line in
                !Self.unannounced.contains { network.name.hasPrefix($0.network) && $0.line(line) }
            }
            #expect(lines.isEmpty, "\(network.name)")
        }
    }

    @Test func `each exception for changes without a notification is used`() throws {
        var met: Set<String> = []
        for scenario in RecordedNetwork.scenarios {
            try scenario.replay { network, replayed in
                for line in Differences(replayed, try network.snapshot()).lines {
                    for exception in Self.unannounced
                    where network.name.hasPrefix(exception.network) && exception.line(line) {
                        met.insert(exception.reason)
                    }
                }
            }
        }
        #expect(met.count == Self.unannounced.count)
    }

    @Test(arguments: RecordedNetwork.scenarios) func `after the notifications lookups agree with the kernel`(
        scenario: RecordedScenario
    ) throws {
        try scenario.replay { network, replayed in
            for probe in try network.probes() where !Self.isUnannounced(network, probe) {
                let query = try probe.query(in: replayed)
                do throws(ReachabilityError) {
                    let found = SnapshotOracleTests.Outcome(try replayed.answer(to: query))
                    let expected = SnapshotOracleTests.Outcome(probe.fibmatch)
                    #expect(found == expected, "\(network.name) \(probe.target) out of \(probe.oif ?? "any")")
                } catch {
                    let reasons = Self.undecided.filter { network.name.hasPrefix($0.network) }.map(\.reason)
                    #expect(
                        reasons.contains(where: error.message.contains), "\(network.name): \(error.message)")
                }
            }
        }
    }

    /// Where another way is open and no dump before showed which one the kernel takes.
    private static let undecided: [(network: String, reason: String)] =
        [
            "02-wireguard/05", "12-team/02", "13-tun-tap/04", "16-multipath-nexthop/02",
            "16-multipath-nexthop/07",
            "22-lookup-corners/02", "22-lookup-corners/03",
        ].map { ($0, "ignore_routes_with_linkdown") } + [
            ("09-slaac/10", "its router may have prolonged it"),
            ("09-slaac/11", "its router may have prolonged it"),
        ]

    /// A change that differs from its notification: a router withdrew by letting its lifetime expire, which the kernel
    /// reports half a minute later.
    private static func isUnannounced(_ network: RecordedNetwork, _ probe: Probe) -> Bool {
        switch network.name {
        case "09-slaac/09-prefix-deprecated": probe.target.contains(":") && probe.fibmatch.errno == 101
        default: false
        }
    }
}

extension RecordedScenario {
    /// Applies the notifications to the first dump and calls `body` at the time of each later one.
    func replay(_ body: (RecordedNetwork, NetworkSnapshot) throws -> Void) throws {
        guard let first = networks.first else { return }
        var snapshot = try first.snapshot()
        let start = try first.meta().time
        var events = try timedEvents().drop { $0.time <= start }
        for network in networks.dropFirst() {
            let time = try network.meta().time
            while let event = events.first, event.time <= time {
                snapshot.clock = Int64((event.time - start) * 100)
                snapshot.apply(event.change)
                events.removeFirst()
            }
            snapshot.clock = Int64((time - start) * 100)
            try body(network, snapshot)
        }
    }
}
