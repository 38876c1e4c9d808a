// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Two states of a network, what differs between them, and which differences explain a changed answer.
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

    /// Whether there are few enough differences to find out what follows from what; those of routes do not count.
    package var findsCauses: Bool { links.isKnown }

    /// The only difference that all others follow from, as the cause of every changed answer; `nil` where there are
    /// several.
    package var onlyCause: NetworkDifference? {
        links.roots.count == 1 ? links.roots.first.map { differences[$0] } : nil
    }

    /// The differences that the answers to some queries have read.
    ///
    /// They are the rules that select a packet, up to the one that decides, and the route that takes it or refuses it,
    /// in either state. Where none of these differs, they are the interfaces, addresses, nexthop objects and settings
    /// behind the routes, and where none of those does, the neighbours. A difference that follows from another one is
    /// replaced by that one.
    ///
    /// - Parameter queries: The queries that led to the old and to the new answer.
    /// - Returns: The differences, in their order; empty where the answers have read none.
    package func causes(of queries: Set<RouteQuery>) -> [NetworkDifference] {
        let (before, after) = (
            QueryReading(queries, in: old.snapshot), QueryReading(queries, in: new.snapshot)
        )
        let read: [(NetworkDifference) -> Bool] = [
            { before.decides($0, .old) || after.decides($0, .new) },
            { before.uses($0) || after.uses($0) },
            { before.reaches($0) || after.reaches($0) },
        ]
        let found = read.lazy.map { isRead in differences.indices.filter { isRead(differences[$0]) } }
            .first { !$0.isEmpty }
        return Set((found ?? []).compactMap(cause)).sorted().map { differences[$0] }
    }

    /// The difference that one follows from: that nearest to a lookup, where there are several.
    private func cause(of index: Int) -> Int? {
        links.causes(of: [index]).filter(links.roots.contains)
            .min { (differences[$0].rank, $0) < (differences[$1].rank, $1) }
    }
}

extension NetworkDifference {
    /// How near a difference is to a lookup.
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
}
