// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Changes that are predicted and then made, in random networks: each answer is the predicted one.
///
/// A failure prints the seed and the smallest case: `DifferentialProbe changes 25 SEED` makes that network again.
@Suite(
    .needs(.veth, .bridge, .nexthops))
struct ChangeTests {
    /// The networks, unless CHANGES_SEED names others.
    private static let seed = getenv("CHANGES_SEED").flatMap { UInt64(String(cString: $0)) } ?? 20_000

    @Test func `the kernel does what was predicted`() throws {
        let count = Rounds.of(500)
        let run = try ProbeRun("changes \(count) \(Self.seed)")
        #expect(run.status == 0, "CHANGES_SEED=\(Self.seed)\n\(run.output)")
        #expect(run.count("agreed") == count, "\(run.output)")
        // Most are accepted by the kernel, and each of those is asked about twenty addresses at least.
        #expect(run.count("targets") > 10 * count, "\(run.output)")
        // What is marked or refused stays rare, also of the source alone: the networks have many addresses that fit
        // alike, and scopes. Bounds that no seed comes near: of twenty-four, the worst had 11 % and 8 %.
        let sources = run.exceptions("source")
        #expect((run.count("exception") - sources) * 4 < run.count("targets"), "\(run.output)")
        #expect(sources * 4 < run.count("targets"), "\(run.output)")
    }
}
