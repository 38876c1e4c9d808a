// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import TestSupport
import Testing

/// Sockets beside the flags, in random networks.
///
/// A failure prints the seed and the smallest case: `DifferentialProbe witness 100 SEED` makes that network again.
@Suite(
    .enabled(if: Capability.veth.obstacle == nil, "no network of its own: \(Capability.veth.obstacle ?? "")"),
    .enabled(if: Capability.nexthops.obstacle == nil, "no nexthops: \(Capability.nexthops.obstacle ?? "")"))
struct WitnessTests {
    /// A tenth under a sanitizer, which slows the making of networks.
    private static let networks = ProcessResources.isSanitized ? 20 : 200

    @Test func `with 20,000 sockets in 200 new networks, each kind of binding at least 500 times`() throws {
        let triples = Self.networks * 100
        print("witness tests: SOAK_SEED=\(DifferentialTests.fresh)")
        let run = try ProbeRun("witness \(triples) \(DifferentialTests.fresh) 100")
        #expect(run.status == 0, "SOAK_SEED=\(DifferentialTests.fresh)\n\(run.output)")
        #expect(run.count("networks") == Self.networks, "\(run.output)")
        let open = run.count("moved") + run.count("undecided")
        #expect(run.count("agreed") + run.count("exception") + open == triples, "\(run.output)")
        #expect(open * 100 < triples, "\(run.output)")
        for kind in run.kinds where !run.skips(kind.name) {
            // Fewer networks spread the kinds less evenly.
            let share = ProcessResources.isSanitized ? 100 : 40
            #expect(kind.count * share >= triples, "\(kind)\n\(run.output)")
        }
    }
}
