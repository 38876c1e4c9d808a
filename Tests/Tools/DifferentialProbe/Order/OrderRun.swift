// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// Network after network, until enough sets of addresses were ordered.
struct OrderRun: Run {
    let seed: UInt64
    let sets: Int
    let perNetwork: Int

    private var tally = OrderTally()
    private var networks: UInt64 = 0

    var differing: Int { tally.differing }
    var agreed: Int { tally.agreed }

    /// How many differences are shrunk and printed.
    private static let shownDifferences = 3

    init(seed: UInt64, sets: Int, perNetwork: Int) {
        (self.seed, self.sets, self.perNetwork) = (seed, sets, perNetwork)
    }

    func printCounts() {
        for rule in OrderedAddress.Rule.allCases { print("rule", tally.rules[rule, default: 0], rule) }
        for exception in GlibcException.allCases {
            print("exception", tally.exceptions[exception, default: 0], exception)
        }
        print("networks", networks)
        print("moved", tally.moved)
        print("excepted", tally.excepted)
        print("undecided", tally.undecided)
        print("unlike", tally.unlike)
    }

    mutating func compareAll() throws {
        try Namespace.copyConfiguration()
        try Namespace.renew()
        // Both sides read the policy again if it said so when it was first read.
        try Getaddrinfo.configure([[.loopbackV4, .loopbackV6]], gaiConf: "reload yes\n")
        _ = try Getaddrinfo.order(ofSet: 0)
        _ = try NetworkSource.currentNamespace().blockingValue(of: .order(of: [.loopbackV4]))
        var (drawn, shown) = (0, 0)
        while drawn < sets, Interruption.signal == nil {
            let count = min(perNetwork, sets - drawn)
            let comparison = OrderComparison(seed: seed &+ networks, sets: count)
            drawn += count
            networks += 1
            let (tally, difference) = try comparison.run()
            self.tally += tally
            guard let difference, shown < Self.shownDifferences else { continue }
            shown += 1
            report(try difference.shrunk(seed: comparison.seed), of: comparison.seed)
        }
    }

    private func report(_ difference: OrderDifference, of seed: UInt64) {
        print("difference seed \(seed)")
        for command in difference.commands { print("  command", command) }
        for line in (difference.gaiConf ?? "").split(separator: "\n") { print("  gai.conf", line) }
        print("  set", difference.set.map(\.description).joined(separator: " "))
        print("  glibc", difference.glibc.map(\.description).joined(separator: " "))
        for entry in difference.ours { print("  library", entry, entry.rule?.description ?? "") }
        for entry in difference.recorded ?? [] { print("  tables", entry, entry.rule?.description ?? "") }
        for address in difference.set {
            print("  socket", address, Getaddrinfo.source(for: address)?.description ?? "-")
        }
        fflush(nil)
    }
}
