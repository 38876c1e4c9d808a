// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Interfaces that come, go, change their names and lie on each other at random, in networks of their own.
///
/// A failure prints the seed and the changes: `DifferentialProbe links 250 SEED` makes that network again.
@Suite(
    .needs(.veth, .bridge))
struct LinkTests {
    /// A new one with each run, unless LINKS_SEED names one.
    private static let seed =
        getenv("LINKS_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 0...UInt64(UInt32.max))

    @Test func `after each change the kernel and a dump of its tables answer the same`() throws {
        print("interfaces at random: LINKS_SEED=\(Self.seed)")
        let count = Rounds.of(2_000)
        let run = try ProbeRun("links \(count) \(Self.seed)")
        #expect(run.status == 0, "LINKS_SEED=\(Self.seed)\n\(run.output)")
        #expect(run.count("agreed") == count, "\(run.output)")
        // Most changes are accepted.
        #expect(run.count("refused") < count, "\(run.output)")
    }

    /// A network that once found a mistake: of a vxlan on the loopback interface, whose outer packets have no source.
    @Test(arguments: [20_261_579]) func `a network that is kept answers the same`(seed: UInt64) throws {
        let run = try ProbeRun("links 60 \(seed)")
        #expect(run.status == 0, "\(run.output)")
        #expect(run.count("agreed") == 60, "\(run.output)")
    }
}
