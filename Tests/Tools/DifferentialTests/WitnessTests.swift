// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Sockets beside the flags, in random networks.
///
/// A failure prints the seed and the smallest case: `DifferentialProbe witness 100 SEED` makes that network again.
@Suite(
    .needs(.veth, .nexthops))
struct WitnessTests {
    /// Fewer would not have each kind of query.
    private static let networks = max(20, Rounds.of(200))

    @Test func `with sockets of each kind of binding in new networks`() throws {
        let triples = Self.networks * 100
        print("witness tests: SOAK_SEED=\(DifferentialTests.fresh)")
        let run = try ProbeRun("witness \(triples) \(DifferentialTests.fresh) 100")
        #expect(run.status == 0, "SOAK_SEED=\(DifferentialTests.fresh)\n\(run.output)")
        #expect(run.count("networks") == Self.networks, "\(run.output)")
        let open = run.count("moved") + run.count("undecided")
        #expect(run.count("agreed") + run.count("exception") + open == triples, "\(run.output)")
        #expect(run.count("moved") * 100 < triples, "\(run.output)")
        // The networks are full of rules that compare the source of bound IPv6 sockets. A few networks can have most.
        #expect(run.count("undecided") * (Rounds.areAll ? 50 : 20) < triples, "\(run.output)")
        for kind in run.kinds where !run.skips(kind.name) {
            // Fewer networks spread the kinds less evenly.
            let share = Rounds.areAll ? 40 : 100
            #expect(kind.count * share >= triples, "\(kind)\n\(run.output)")
        }
    }
}
