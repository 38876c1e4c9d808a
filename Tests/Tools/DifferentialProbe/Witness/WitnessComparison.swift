// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import TestSupport

/// What came out of a number of triples.
struct WitnessTally {
    var agreed: [Triple.Kind: Int] = [:]
    /// Of those that agreed, packets through tunnels: whether the tunnel waits.
    var tunnels: [Bool: Int] = [:]
    var exceptions: [WitnessException: Int] = [:]
    /// Both sides answered otherwise a moment later: the network was not at rest.
    var moved = 0
    /// The library could not decide.
    var undecided = 0
    /// The number of differences that no exception explains, by their description without numbers.
    var differing: [String: Int] = [:]

    /// All triples that were asked about.
    var total: Int {
        agreed.values.reduce(0, +) + exceptions.values.reduce(0, +) + moved + undecided
            + differing.values.reduce(0, +)
    }

    static func += (sum: inout WitnessTally, other: WitnessTally) {
        sum.agreed.merge(other.agreed, uniquingKeysWith: +)
        sum.tunnels.merge(other.tunnels, uniquingKeysWith: +)
        sum.exceptions.merge(other.exceptions, uniquingKeysWith: +)
        sum.moved += other.moved
        sum.undecided += other.undecided
        sum.differing.merge(other.differing, uniquingKeysWith: +)
    }
}

/// A socket and the library disagree, and no exception explains it.
struct WitnessDifference {
    /// The commands that made the network, after the base.
    var commands: [Command]
    var testimony: Testimony
}

/// One random network, and triples about it.
struct WitnessComparison {
    /// How often a difference is looked at again before it counts.
    private static let repetitions = 3

    let seed: UInt64
    let triples: Int
    /// The number of triples that earlier networks of the run drew.
    let drawn: Int

    /// Makes the network and asks.
    ///
    /// - Returns: The counts, and the first difference of each sort.
    func run() throws -> (WitnessTally, [WitnessDifference]) {
        var generator = NetworkGenerator(seed: seed)
        var commands =
            NetworkGenerator.lostRule6(seed: seed) + NetworkGenerator.uplinks(seed: seed)
            + NetworkGenerator.packets(seed: seed) + NetworkGenerator.nonlocalBinding(seed: seed)
            + generator.commands() + generator.commands()
            + NetworkGenerator.witnessCommands(seed: seed)
        let tunnels = NetworkGenerator.tunnels(seed: seed) + NetworkGenerator.oddTunnel(seed: seed)
        if !tunnels.isEmpty {
            // The library does not look at whether a gateway answers.
            commands.removeAll { "\($0)".contains("nud failed") }
            commands += NetworkGenerator.withoutARP + tunnels
        }
        try Self.make(commands)
        let snapshot = try NetworkSnapshot.settled()
        let network = try WitnessedNetwork()
        var queries = TripleGenerator(seed: generator.random.next(), about: snapshot, startingAt: drawn)
        var tally = WitnessTally()
        var differences: [WitnessDifference] = []
        for _ in 0..<triples {
            let triple = queries.next()
            switch Self.judge(triple, network) {
            case .agreed(let tunnel):
                tally.agreed[triple.kind, default: 0] += 1
                if let tunnel { tally.tunnels[tunnel.waits, default: 0] += 1 }
            case .exception(let exception): tally.exceptions[exception, default: 0] += 1
            case .moved: tally.moved += 1
            case .undecided: tally.undecided += 1
            case .difference(let testimony):
                if tally.differing[testimony.sort, default: 0] == 0 {
                    differences.append(WitnessDifference(commands: commands, testimony: testimony))
                }
                tally.differing[testimony.sort, default: 0] += 1
            }
        }
        return (tally, differences)
    }

    private enum Judgement {
        case agreed(TunnelTestimony?)
        case exception(WitnessException)
        case moved
        case undecided
        case difference(Testimony)
    }

    private static func judge(_ triple: Triple, _ network: WitnessedNetwork) -> Judgement {
        var testimony = Testimony(triple, network)
        if testimony.agrees { return .agreed(testimony.tunnel) }
        if testimony.flags == .undecided { return .undecided }
        if let exception = testimony.exception { return .exception(exception) }
        for _ in 0..<repetitions {
            testimony = Testimony(triple, network)
            if testimony.agrees || testimony.exception != nil { return .moved }
        }
        return .difference(testimony)
    }

    private static func make(_ commands: [Command]) throws {
        try Namespace.renew()
        try Command.run(NetworkGenerator.base + NetworkGenerator.distinctMTUs + commands)
    }
}

extension WitnessDifference {
    /// The difference with as few commands as it needs.
    func shrunk() throws -> WitnessDifference {
        try Shrinking.smallest(self, steps: \.commands) { commands in
            try WitnessComparison.difference(like: testimony, in: commands)
        }
    }
}

extension WitnessComparison {
    /// Asks again in a network of its own, and returns a difference of the same sort.
    fileprivate static func difference(
        like original: Testimony,
        in commands: [Command]
    ) throws -> WitnessDifference? {
        try make(commands)
        _ = try NetworkSnapshot.settled()
        guard case .difference(let testimony) = judge(original.triple, try WitnessedNetwork()),
            testimony.sort == original.sort
        else { return nil }
        return WitnessDifference(commands: commands, testimony: testimony)
    }
}
