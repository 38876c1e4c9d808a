// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import TestSupport

/// Network after network, until a socket was asked often enough.
struct WitnessRun: Run {
    let seed: UInt64
    let triples: Int
    let perNetwork: Int

    private var tally = WitnessTally()
    private var networks: UInt64 = 0

    var differing: Int { tally.differing.values.reduce(0, +) }
    var agreed: Int { tally.agreed.values.reduce(0, +) }

    /// How many differences are shrunk and printed.
    private static let shownDifferences = 20

    init(seed: UInt64, triples: Int, perNetwork: Int) {
        self.seed = seed
        self.triples = triples
        self.perNetwork = perNetwork
    }

    func printCounts() {
        if !Namespace.knows(user: TripleGenerator.otherUser) {
            print("skipped user: no other user is mapped")
        }
        if Namespace.tunnelKinds.isEmpty { print("skipped tunnel: the kernel has none of these kinds") }
        for kind in Triple.Kind.allCases { print("kind", tally.agreed[kind, default: 0], kind) }
        for exception in WitnessException.allCases {
            print("exception", tally.exceptions[exception, default: 0], exception)
        }
        print("tunnels that send", tally.tunnels[false, default: 0])
        print("tunnels that wait", tally.tunnels[true, default: 0])
        print("networks", networks)
        print("moved", tally.moved)
        print("undecided", tally.undecided)
        for (sort, count) in tally.differing.sorted(by: { $0.key < $1.key }) { print("sort", count, sort) }
    }

    mutating func compareAll() throws {
        var drawn = 0
        var shown: Set<String> = []
        while drawn < triples, Interruption.signal == nil {
            let count = min(perNetwork, triples - drawn)
            let comparison = WitnessComparison(seed: seed &+ networks, triples: count, drawn: drawn)
            drawn += count
            networks += 1
            let (tally, differences) = try comparison.run()
            self.tally += tally
            for difference in differences where shown.count < Self.shownDifferences {
                guard shown.insert(difference.testimony.sort).inserted else { continue }
                try report(difference, of: comparison.seed)
            }
        }
    }

    private func report(_ difference: WitnessDifference, of seed: UInt64) throws {
        let smallest = try difference.shrunk()
        print("difference seed \(seed) after \(difference.commands.count) commands")
        for command in smallest.commands { print("  command", command) }
        print("  query", smallest.testimony.triple)
        print("  answer", smallest.testimony)
        fflush(nil)
    }
}
