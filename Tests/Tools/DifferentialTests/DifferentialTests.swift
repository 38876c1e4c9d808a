// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// The running kernel against snapshots of it, in random networks; `make soak` asks a hundred times as much.
///
/// A failure prints the seed and the smallest case: `DifferentialProbe 10000 SEED` makes that network again.
@Suite(
    .needs(.veth, .nexthops))
struct DifferentialTests {
    /// Seeds of networks that once found a mistake, and of the first ones of all.
    static let regressions: [UInt64] = [1, 1_003, 1_035, 1_118, 1_170, 9_004_002, 9_014_003, 98_692_753]

    /// A new one with each run, unless `SOAK_SEED` names one.
    static let fresh: UInt64 =
        getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 0...UInt64(UInt32.max))

    @Test func `to thousands of random queries in new networks`() throws {
        print("differential tests: SOAK_SEED=\(Self.fresh)")
        let lookups = Rounds.of(200_000)
        let run = try agree(lookups: lookups, seed: Self.fresh, perNetwork: lookups / 40)
        // Over forty networks; a single one can depend on what its dump does not hold.
        let open = run.count("undecided") + run.count("alike") + run.count("moved")
        #expect(open * 100 < lookups, "\(run.output)")
    }

    @Test(arguments: regressions) func `to 8,000 random queries in a network that is kept`(seed: UInt64)
        throws
    {
        try agree(lookups: 8_000, seed: seed, perNetwork: 10_000)
    }

    /// Expects no difference, and that every query was sent.
    @discardableResult
    private func agree(
        lookups: Int,
        seed: UInt64,
        perNetwork: Int,
        at location: SourceLocation = #_sourceLocation
    ) throws -> ProbeRun {
        let run = try ProbeRun("\(lookups) \(seed) \(perNetwork)")
        let asked = ["agreed", "undecided", "alike", "moved"].reduce(0) { $0 + run.count($1) }
        #expect(run.status == 0, "SOAK_SEED=\(seed)\n\(run.output)", sourceLocation: location)
        #expect(asked == lookups, "\(run.output)", sourceLocation: location)
        return run
    }
}
