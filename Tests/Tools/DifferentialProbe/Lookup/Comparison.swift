// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel
internal import TestSupport

/// What came out of a number of queries.
struct Tally {
    var agreed = 0
    /// By the snapshot's reason.
    var undecided: [String: Int] = [:]
    /// The snapshot's answer depends on a fact that it does not hold, but all cases use the same interfaces: the
    /// kernel's answer is that of another case.
    var alike = 0
    /// The network changed while it was asked about: neither side can be blamed.
    var moved = 0

    /// All queries that were sent.
    var total: Int { agreed + alike + moved + undecided.values.reduce(0, +) }

    static func += (sum: inout Tally, other: Tally) {
        sum.agreed += other.agreed
        sum.alike += other.alike
        sum.moved += other.moved
        sum.undecided.merge(other.undecided, uniquingKeysWith: +)
    }
}

/// The kernel and the snapshot give different answers.
struct Difference: Error {
    /// What the network was made by.
    var commands: [Command]
    let query: RouteQuery
    let kernel: LookupResult
    let snapshot: LookupResult
}

/// One random network, made and changed step by step, and asked about after each.
struct Comparison {
    private static let steps = 4

    let seed: UInt64
    let queries: Int

    /// Asks both sides about everything.
    ///
    /// - Returns: What came out.
    /// - Throws: The first ``Difference``, or what kept the network from being made.
    func run() throws -> Tally {
        var generator = NetworkGenerator(seed: seed)
        var commands =
            NetworkGenerator.lostRule6(seed: seed) + NetworkGenerator.uplinks(seed: seed)
            + NetworkGenerator.packets(seed: seed) + NetworkGenerator.deadNexthops(seed: seed)
            + NetworkGenerator.oddities(seed: seed)
        var tally = Tally()
        try Namespace.renew()
        try Command.run(NetworkGenerator.base + commands)
        for step in 0..<Self.steps {
            let new = generator.commands()
            commands += new
            try Command.run(new)
            let share = queries * (step + 1) / Self.steps - queries * step / Self.steps
            tally += try ask(share, seed: generator.random.next(), commands)
        }
        return tally
    }

    private func ask(_ count: Int, seed: UInt64, _ commands: [Command]) throws -> Tally {
        let kernel = try KernelRouting()
        var snapshot = SnapshotRouting(try .settled())
        var queries = QueryGenerator(seed: seed, about: snapshot.snapshot)
        var tally = Tally()
        for _ in 0..<count {
            let query = queries.next()
            let found = LookupResult(snapshot, query)
            let wanted = LookupResult(kernel, query)
            if found == wanted {
                tally.agreed += 1
                continue
            }
            if case .undecided(let reason) = found {
                tally.undecided[reason.withoutNumbers, default: 0] += 1
                continue
            }
            if wanted.isPossible(snapshot.snapshot, query) {
                tally.alike += 1
                continue
            }
            let now = try NetworkSnapshot.settled()
            guard !now.isEqual(to: snapshot.snapshot) else {
                throw Difference(commands: commands, query: query, kernel: wanted, snapshot: found)
            }
            snapshot.snapshot = now
            tally.moved += 1
        }
        return tally
    }
}

extension Difference {
    /// The difference with as few commands as it needs.
    func shrunk() throws -> Difference {
        try Shrinking.smallest(self, steps: \.commands) { commands in try Self.find(commands, query) }
    }

    private static func find(_ commands: [Command], _ query: RouteQuery) throws -> Difference? {
        try Namespace.renew()
        try Command.run(NetworkGenerator.base + commands)
        let dumped = try NetworkSnapshot.settled()
        let snapshot = LookupResult(SnapshotRouting(dumped), query)
        let kernel = LookupResult(try KernelRouting(), query)
        if case .undecided = snapshot { return nil }
        guard snapshot != kernel, !kernel.isPossible(dumped, query) else { return nil }
        return Difference(commands: commands, query: query, kernel: kernel, snapshot: snapshot)
    }
}

extension String {
    /// Reasons that differ in a rule's number or a gateway are counted as one.
    fileprivate var withoutNumbers: String {
        split(separator: " ").map { $0.contains(where: \.isNumber) ? "…" : $0 }.joined(separator: " ")
    }
}
