// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel
internal import TestSupport

/// Network after network, until enough was asked.
struct LookupRun: Run {
    let seed: UInt64
    let lookups: Int
    let perNetwork: Int

    private var tally = Tally()
    private(set) var differing = 0

    var agreed: Int { tally.agreed }

    init(seed: UInt64, lookups: Int, perNetwork: Int) {
        self.seed = seed
        self.lookups = lookups
        self.perNetwork = perNetwork
    }

    func printCounts() {
        for (reason, count) in tally.undecided.sorted(by: { $0.key < $1.key }) {
            print("undecided", count, reason)
        }
        print("alike", tally.alike)
        print("moved", tally.moved)
    }

    mutating func compareAll() throws {
        var (network, reported, left): (UInt64, Int, Int) = (0, 0, lookups)
        while left > 0, Interruption.signal == nil {
            let comparison = Comparison(seed: seed &+ network, queries: min(perNetwork, left))
            left -= comparison.queries
            do {
                tally += try comparison.run()
            } catch let difference as Difference {
                differing += 1
                try report(difference, of: comparison.seed)
                // A few more differences help to find the cause.
                if differing == 5 { return }
            }
            network += 1
            if tally.total / 500_000 > reported {
                reported = tally.total / 500_000
                // At once, also into a pipe.
                print("progress", tally.total, "of", lookups, "in", network, "networks, agreed", tally.agreed)
                fflush(nil)
            }
        }
    }

    private func report(_ difference: Difference, of seed: UInt64) throws {
        let smallest = try difference.shrunk()
        print("difference seed \(seed) after \(difference.commands.count) commands")
        for command in smallest.commands { print("  command", command) }
        let query = smallest.query
        print(
            "  query \(query.destination) oif \(query.outputInterface) mark \(query.mark)",
            "source \(query.source?.description ?? "-") user \(query.user.map(String.init) ?? "-")")
        print("  kernel", smallest.kernel)
        print("  snapshot", smallest.snapshot)
    }
}
