// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import RoutingSimulation

/// Two states of a network, what differs between them, and which differences explain a changed answer.
///
/// <!-- not compiled: it is not public -->
/// ```swift
/// let comparison = NetworkComparison(old, new)
/// let causes = comparison.causes(for: [query]) { state in ask(state) == oldAnswer }
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
    }

    // MARK: Undoing

    /// The newer state without some differences, and without those that follow from them.
    package func undoing(_ undone: [NetworkDifference]) -> SnapshotRouting {
        let wanted = Set(undone)
        let indices = differences.indices.filter { wanted.contains(differences[$0]) }
        return undoing(indices, within: Array(differences.indices))
    }

    /// The newer state without differences at some indices, and without those of others that follow from them.
    private func undoing(_ indices: [Int], within others: [Int]) -> SnapshotRouting {
        let taken = links.closure(of: indices)
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

    /// Whether there are few enough differences to search causes among them; those of routes do not count.
    package var findsCauses: Bool { links.isKnown }

    /// The only difference that all others follow from, as the cause of every changed answer; `nil` where there are
    /// several.
    package var onlyCause: Causes? {
        guard links.roots.count == 1, let root = links.roots.first else { return nil }
        return Causes(differences: [differences[root]], evaluations: 0, isSmallest: true)
    }

    /// Finds the smallest set of differences that explains a changed answer.
    ///
    /// A set explains the change when the answer is the old one again without it. No proper subset of the result does,
    /// unless the search ends before that is known. The search starts among the differences that the queries can
    /// depend on, and widens to all where the old answer does not return without these.
    ///
    /// - Parameters:
    ///   - queries: The queries that led to the old and the new answer.
    ///   - isOldAnswer: Whether a state gives the old answer.
    /// - Returns: The set; `nil` when the old answer does not return without all of them.
    package func causes(for queries: Set<RouteQuery>, isOldAnswer: (SnapshotRouting) -> Bool) -> Causes? {
        guard links.isKnown else { return nil }
        let scope = QueryScope(queries, in: [old.snapshot, new.snapshot])
        // No lookup reads routes to other addresses.
        let near = differences.indices.filter {
            differences[$0].route == nil || scope.contains(differences[$0])
        }
        let used = links.causes(of: near.filter { scope.contains(differences[$0]) }).sorted()
        // Each evaluation takes back as much as there is.
        let limit = max(40, min(SmallestSet.evaluationLimit, 2_000_000 / max(1, near.count)))
        var evaluations = 0
        var tried: Set<[Int]> = []
        for indices in [used, near] {
            let ranked = indices.filter(links.roots.contains)
                .sorted { (differences[$0].rank, $0) < (differences[$1].rank, $1) }
            for candidates in [ranked.filter { !differences[$0].isNoisy }, ranked, indices]
            where tried.insert(candidates).inserted {
                let found = SmallestSet.find(
                    among: candidates, evaluations: limit - evaluations
                ) { isOldAnswer(undoing($0, within: indices)) }
                evaluations += found.evaluations
                guard let set = found.set else { continue }
                return Causes(
                    differences: set.sorted().map { differences[$0] },
                    evaluations: evaluations,
                    isSmallest: !found.isCut
                )
            }
        }
        return nil
    }
}

extension Set {
    fileprivate mutating func set(_ element: Element, _ isMember: Bool) {
        if isMember { insert(element) } else { remove(element) }
    }
}

extension NetworkDifference {
    /// The order in which differences are tried: those nearest to a lookup first.
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
}
