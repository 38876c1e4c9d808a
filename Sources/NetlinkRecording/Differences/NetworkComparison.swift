// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Two states of a network, what differs between them, and which differences explain a changed answer.
///
/// Some differences follow from another one: the routes that the kernel drops when an interface goes down, the routes
/// that it makes for an address, the carrier of a VLAN whose lower interface lost its carrier.
package struct NetworkComparison: Sendable {
    /// The older state, with the interface indexes of the newer one.
    package let old: SnapshotRouting
    /// The newer state.
    package let new: SnapshotRouting
    /// Everything that differs.
    package let differences: [NetworkDifference]
    /// Which differences follow from others.
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

    /// Whether there are few enough differences to find their causes; differences of routes need no trial.
    package var findsCauses: Bool { links.isKnown }

    /// The difference that all others follow from, and so the cause of every changed answer; `nil` if there are several
    /// or none.
    package var onlyCause: NetworkDifference? {
        links.roots.count == 1 ? links.roots.first.map { differences[$0] } : nil
    }

    /// The differences that the answers to some queries have read.
    ///
    /// First, the rules that select a packet, up to the deciding rule, and the route that takes or refuses the packet,
    /// in either state. If none of these differs, the interfaces, addresses, nexthop objects and settings behind the
    /// routes. If none of those differs, the neighbours. A difference that follows from another one is replaced by its
    /// cause.
    ///
    /// - Parameter queries: The queries that led to the old and to the new answer.
    /// - Returns: The differences, in their order; empty if the answers have read none.
    package func causes(of queries: Set<RouteQuery>) -> [NetworkDifference] {
        let (before, after) = (
            QueryReading(queries, in: old.snapshot), QueryReading(queries, in: new.snapshot)
        )
        let parts = differences.map { difference in
            [before.part(of: difference, .old), after.part(of: difference, .new)].compactMap(\.self).min()
        }
        guard let first = parts.compactMap(\.self).min() else { return [] }
        let found = differences.indices.filter { parts[$0] == first }
        return Set(found.compactMap(cause)).sorted().map { differences[$0] }
    }

    /// The root cause of a difference; of several, the one nearest to a lookup.
    private func cause(of index: Int) -> Int? {
        links.causes(of: [index]).filter(links.roots.contains)
            .min { (differences[$0].rank, $0) < (differences[$1].rank, $1) }
    }
}

extension NetworkDifference {
    /// How near a difference is to a lookup: smaller is nearer.
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
