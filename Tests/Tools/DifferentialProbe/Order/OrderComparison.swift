// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// What came out of a number of sets.
struct OrderTally {
    var agreed = 0
    /// How many sets each exception changes.
    var exceptions: [GlibcException: Int] = [:]
    /// The sets that only exceptions explain.
    var excepted = 0
    /// The order was another a moment later: the network was not at rest.
    var moved = 0
    var differing = 0
    /// The sets whose order the tables of the network do not decide.
    var undecided = 0
    /// The sets with an address about which the tables say otherwise than the kernel: another source, or other flags.
    var unlike = 0
    /// How often each rule of the library put an address behind the one before.
    var rules: [OrderedAddress.Rule: Int] = [:]

    static func += (sum: inout OrderTally, other: OrderTally) {
        sum.agreed += other.agreed
        sum.exceptions.merge(other.exceptions, uniquingKeysWith: +)
        sum.excepted += other.excepted
        sum.moved += other.moved
        sum.differing += other.differing
        sum.undecided += other.undecided
        sum.unlike += other.unlike
        sum.rules.merge(other.rules, uniquingKeysWith: +)
    }
}

/// getaddrinfo and the library order a set differently, and no exceptions explain it.
struct OrderDifference {
    var commands: [Command]
    let hasTunnel: Bool
    let gaiConf: String?
    var set: [IPAddress]
    var ours: [OrderedAddress]
    var glibc: [IPAddress]
    /// The order of the tables; `nil` where they do not decide.
    var recorded: [OrderedAddress]?
}

/// One random network, and sets of addresses in it.
struct OrderComparison {
    /// How often a difference is looked at again before it counts.
    private static let repetitions = 3

    let seed: UInt64
    let sets: Int

    /// What the three sides say about a set.
    private struct Judgement {
        let ours: [OrderedAddress]
        let glibc: [IPAddress]
        let recorded: [OrderedAddress]?
        /// The exceptions that explain the order of getaddrinfo; `nil` where something is not explained.
        let exceptions: Set<GlibcException>?
    }

    /// Makes the network and asks.
    ///
    /// - Returns: The counts, and the first difference.
    func run() throws -> (OrderTally, OrderDifference?) {
        let (commands, hasTunnel) = OrderedNetwork.plan(seed: seed)
        let network = try OrderedNetwork(seed: seed, commands: commands, hasTunnel: hasTunnel)
        var random = OrderGenerator(seed: ~seed)
        let gaiConf = random.gaiConf()
        let sets = (0..<sets).map { _ in random.set(about: network.addresses) }
        try Getaddrinfo.configure(sets, gaiConf: gaiConf)
        var tally = OrderTally()
        var difference: OrderDifference?
        for (number, set) in sets.enumerated() {
            let (judgement, hasMoved) = try Self.judge(set, number, network)
            for rule in judgement.ours.compactMap(\.rule) { tally.rules[rule, default: 0] += 1 }
            if let recorded = judgement.recorded {
                if !Self.areAlike(judgement.ours, recorded) { tally.unlike += 1 }
            } else {
                tally.undecided += 1
            }
            if hasMoved {
                tally.moved += 1
            } else if let exceptions = judgement.exceptions {
                if exceptions.isEmpty { tally.agreed += 1 } else { tally.excepted += 1 }
                for exception in exceptions { tally.exceptions[exception, default: 0] += 1 }
            } else {
                tally.differing += 1
                difference =
                    difference
                    ?? OrderDifference(
                        commands: commands, hasTunnel: hasTunnel, gaiConf: gaiConf, set: set,
                        ours: judgement.ours,
                        glibc: judgement.glibc, recorded: judgement.recorded)
            }
        }
        return (tally, difference)
    }

    /// Whether two lists say the same about each address; the tables can leave a source open that decides nothing.
    private static func areAlike(_ ours: [OrderedAddress], _ recorded: [OrderedAddress]) -> Bool {
        ours.allSatisfy { entry in
            recorded.contains { other in
                other.address == entry.address && other.flags == entry.flags
                    && (other.sourceAddress == nil || other.sourceAddress == entry.sourceAddress)
            }
        }
    }

    /// Judges a set, and looks at a difference again.
    private static func judge(
        _ set: [IPAddress],
        _ number: Int,
        _ network: OrderedNetwork
    ) throws -> (Judgement, hasMoved: Bool) {
        var judgement = try judgeOnce(set, number, network)
        guard judgement.exceptions == nil else { return (judgement, false) }
        for _ in 0..<repetitions {
            judgement = try judgeOnce(set, number, network)
            if judgement.exceptions != nil { return (judgement, true) }
        }
        return (judgement, false)
    }

    private static func judgeOnce(
        _ set: [IPAddress],
        _ number: Int,
        _ network: OrderedNetwork
    ) throws -> Judgement {
        let glibc = try Getaddrinfo.order(ofSet: number)
        let ours = try network.source.blockingValue(of: .order(of: set))
        let order = ours.map(\.address)
        let recorded = try network.recordedOrder(of: set)
        let model = GlibcOrder(set, ours, network)
        let isExplained =
            model.order([]) == order && model.sourcesAgree
            && recorded.map { !areAlike(ours, $0) || $0.map(\.address) == order } ?? true
        return Judgement(
            ours: ours, glibc: glibc, recorded: recorded,
            exceptions: isExplained ? model.explanation(of: glibc) : nil)
    }
}

extension OrderDifference {
    /// The difference with as few commands and addresses as it needs.
    func shrunk(seed: UInt64) throws -> OrderDifference {
        var smallest = try Shrinking.smallest(self, steps: \.commands) { commands in
            try OrderComparison.difference(like: self, seed: seed, commands, set)
        }
        for address in set {
            let fewer = smallest.set.filter { $0 != address }
            guard fewer.count > 1 else { break }
            let found = try OrderComparison.difference(like: self, seed: seed, smallest.commands, fewer)
            if let found { smallest = found }
        }
        return smallest
    }
}

extension OrderComparison {
    fileprivate static func difference(
        like original: OrderDifference,
        seed: UInt64,
        _ commands: [Command],
        _ set: [IPAddress]
    ) throws -> OrderDifference? {
        let network = try OrderedNetwork(seed: seed, commands: commands, hasTunnel: original.hasTunnel)
        try Getaddrinfo.configure([set], gaiConf: original.gaiConf)
        let (judgement, hasMoved) = try judge(set, 0, network)
        guard judgement.exceptions == nil, !hasMoved else { return nil }
        var found = original
        (found.commands, found.set, found.ours) = (commands, set, judgement.ours)
        (found.glibc, found.recorded) = (judgement.glibc, judgement.recorded)
        return found
    }
}
