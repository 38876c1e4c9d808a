// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import RoutingSimulation
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
    /// How often each rule of the library put an address behind the one before.
    var rules: [OrderedAddress.Rule: Int] = [:]

    static func += (sum: inout OrderTally, other: OrderTally) {
        sum.agreed += other.agreed
        sum.exceptions.merge(other.exceptions, uniquingKeysWith: +)
        sum.excepted += other.excepted
        sum.moved += other.moved
        sum.differing += other.differing
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
}

/// One random network, and sets of addresses in it.
struct OrderComparison {
    /// How often a difference is looked at again before it counts.
    private static let repetitions = 3

    let seed: UInt64
    let sets: Int

    private enum Judgement {
        case agreed
        case exceptions(Set<GlibcException>)
        case moved
        case difference(ours: [OrderedAddress], glibc: [IPAddress])
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
            let (judgement, ours) = try Self.judge(set, number, network)
            for rule in ours.compactMap(\.rule) { tally.rules[rule, default: 0] += 1 }
            switch judgement {
            case .agreed: tally.agreed += 1
            case .exceptions(let exceptions):
                tally.excepted += 1
                for exception in exceptions { tally.exceptions[exception, default: 0] += 1 }
            case .moved: tally.moved += 1
            case .difference(let ours, let glibc):
                tally.differing += 1
                difference =
                    difference
                    ?? OrderDifference(
                        commands: commands, hasTunnel: hasTunnel, gaiConf: gaiConf, set: set, ours: ours,
                        glibc: glibc)
            }
        }
        return (tally, difference)
    }

    private static func judge(
        _ set: [IPAddress],
        _ number: Int,
        _ network: OrderedNetwork
    ) throws -> (Judgement, [OrderedAddress]) {
        var judgement = try judgeOnce(set, number, network)
        guard case .difference = judgement.0 else { return judgement }
        for _ in 0..<repetitions {
            judgement = try judgeOnce(set, number, network)
            guard case .difference = judgement.0 else { return (.moved, judgement.1) }
        }
        return judgement
    }

    private static func judgeOnce(
        _ set: [IPAddress],
        _ number: Int,
        _ network: OrderedNetwork
    ) throws -> (Judgement, [OrderedAddress]) {
        let glibc = try Getaddrinfo.order(ofSet: number)
        let ours = try network.source.ordered(set)
        let order = ours.map(\.address)
        let model = GlibcOrder(set, ours, network)
        guard model.order([]) == order, model.sourcesAgree, let exceptions = model.explanation(of: glibc)
        else {
            return (.difference(ours: ours, glibc: glibc), ours)
        }
        if exceptions.isEmpty { return (.agreed, ours) }
        return (.exceptions(exceptions), ours)
    }
}

extension OrderDifference {
    /// The difference with as few commands and addresses as it needs.
    func shrunk(seed: UInt64) throws -> OrderDifference {
        var smallest = try Shrinking.smallest(self, commands: \.commands) { commands in
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
        guard case .difference(let ours, let glibc) = try judge(set, 0, network).0 else { return nil }
        var found = original
        (found.commands, found.set, found.ours, found.glibc) = (commands, set, ours, glibc)
        return found
    }
}
