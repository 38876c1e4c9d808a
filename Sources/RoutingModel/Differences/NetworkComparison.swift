// SPDX-License-Identifier: Apache-2.0

/// Two states of a network, what differs between them, and which differences explain a changed answer.
///
/// ```swift
/// let comparison = NetworkComparison(old, new)
/// let causes = comparison.causes(for: [target]) { state in ask(state) == oldAnswer }
/// ```
///
/// A difference that follows from another one belongs to it: the routes that the kernel drops when an interface goes
/// down, the routes that it makes for an address, the carrier of a VLAN whose interface lost its own.
package struct NetworkComparison: Sendable {
    /// The older state, with the interface indexes of the newer one.
    package let old: SnapshotRouting
    /// The newer state.
    package let new: SnapshotRouting
    /// Everything that differs.
    package let differences: [NetworkDifference]
    /// Which of them follow from others.
    private let links: DifferenceLinks
    /// The places of differences of routes by their destinations, and of all others.
    private let places: [IPPrefix?: [Int]]
    /// The lengths of those destinations.
    private let lengths: Set<Int>

    /// Compares two states.
    package init(_ old: SnapshotRouting, _ new: SnapshotRouting) {
        var old = old
        let (snapshot, map) = old.snapshot.renumbered(like: new.snapshot)
        old.snapshot = snapshot
        old.wirelessIndexes = Set(old.wirelessIndexes.map { map[$0] ?? $0 })
        old.cellularIndexes = Set(old.cellularIndexes.map { map[$0] ?? $0 })
        (self.old, self.new) = (old, new)
        let differences = snapshot.differences(to: new.snapshot)
        self.differences = differences
        links = DifferenceLinks(differences, old: snapshot, new: new.snapshot)
        places = Dictionary(grouping: differences.indices) { differences[$0].destination }
        lengths = Set(places.keys.compactMap { $0?.length })
    }

    // MARK: Undoing

    /// The newer state without some differences, and without those that follow from them.
    package func undoing(_ undone: [NetworkDifference]) -> SnapshotRouting {
        let wanted = Set(undone)
        let places = differences.indices.filter { wanted.contains(differences[$0]) }
        return undoing(places, within: Array(differences.indices))
    }

    /// The newer state without differences at some places, and without those of others that follow from them.
    private func undoing(_ places: [Int], within others: [Int]) -> SnapshotRouting {
        let taken = places.reduce(into: Set<Int>()) { $0.formUnion(links.closures[$1]) }
        let all = others.filter(taken.contains).map { differences[$0] }
        var state = new
        state.snapshot.undo(all, older: old.snapshot)
        for case .link(let change) in all {
            guard let index = change.latest?.index else { continue }
            state.wirelessIndexes.set(index, old.wirelessIndexes.contains(index))
            state.cellularIndexes.set(index, old.cellularIndexes.contains(index))
        }
        return state
    }

    // MARK: Causes

    /// Differences that explain a changed answer.
    package struct Causes: Sendable {
        /// The differences: without them the answer is the old one.
        package var differences: [NetworkDifference]
        /// How many states were asked.
        package var evaluations: Int
        /// Whether no proper subset explains the change; `false` when the search ended before that was known.
        package var isSmallest: Bool
    }

    /// Finds the smallest set of differences that explains a changed answer.
    ///
    /// A set explains the change when the answer is the old one again without it. No proper subset of the result does,
    /// unless the search ends before that is known.
    ///
    /// - Parameters:
    ///   - addresses: The addresses that were asked about.
    ///   - isOldAnswer: Whether a state gives the old answer.
    /// - Returns: The set; `nil` when the old answer does not return without all of them.
    package func causes(
        for addresses: [IPAddress],
        isOldAnswer: (SnapshotRouting) -> Bool
    ) -> Causes? {
        var evaluations = 0
        let near = places(concerning: addresses)
        let ranked = Set(near).intersection(links.roots)
            .sorted { (differences[$0].rank, $0) < (differences[$1].rank, $1) }
        for candidates in [ranked.filter { !differences[$0].isNoisy }, ranked, near] {
            let found = SmallestSet.find(among: candidates) { isOldAnswer(undoing($0, within: near)) }
            evaluations += found.evaluations
            guard let set = found.set else { continue }
            return Causes(
                differences: set.sorted().map { differences[$0] },
                evaluations: evaluations,
                isSmallest: !found.isCut
            )
        }
        return nil
    }

    /// The places of the differences that can matter to one of these addresses: no lookup reads routes to others.
    private func places(concerning addresses: [IPAddress]) -> [Int] {
        let prefixes: Set<IPPrefix?> = Set(
            addresses.flatMap { address in lengths.compactMap { IPPrefix(address, length: $0) } })
        return (prefixes + [nil]).flatMap { places[$0] ?? [] }.sorted()
    }
}

extension Set {
    fileprivate mutating func set(_ element: Element, _ isMember: Bool) {
        if isMember { insert(element) } else { remove(element) }
    }
}

extension NetworkDifference {
    /// The order in which differences are tried: what is nearest to a lookup comes first.
    fileprivate var rank: Int {
        switch self {
        case .route: 0
        case .rule: 1
        case .address: 2
        case .nexthop: 3
        case .link: 4
        case .settings: 5
        case .neighbour: 6
        }
    }

    /// Whether such differences are frequent and seldom matter.
    fileprivate var isNoisy: Bool {
        if case .neighbour = self { true } else { false }
    }

    /// The destination of a route.
    fileprivate var destination: IPPrefix? {
        guard case .route(let change) = self else { return nil }
        return change.latest?.destination
    }
}
