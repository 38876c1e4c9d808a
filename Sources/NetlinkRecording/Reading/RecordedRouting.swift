// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import RoutingSimulation

/// The network at the end of a recording, as a source of facts.
///
/// A query that the recording does not decide throws a ``ReachabilityError`` with the code
/// ``ReachabilityError/Code/undecided``. Lifetimes of routes count up to the last time stamp.
///
/// Without annotations it cannot know which interfaces are Wi-Fi or cellular modems without a link kind, and whether
/// the last dump of a capture was complete.
package struct RecordedRouting: Sendable {
    /// The network, as far as the recording describes it.
    package private(set) var routing: SnapshotRouting
    private let coverage: RecordingCoverage
    /// Why no query can be answered; `nil` where the tables decide.
    private let blocker: String?
    /// Where the recording could not be read.
    package let damage: [Recording.Damage]

    /// A network that is known whole.
    package init(_ routing: SnapshotRouting) {
        self.init(routing, coverage: .complete, blocker: nil, damage: [])
    }

    /// Wraps the network.
    ///
    /// - Parameters:
    ///   - routing: The network, as far as the recording describes it.
    ///   - coverage: What it describes.
    ///   - blocker: Why no query can be answered; `nil` where the tables decide.
    ///   - damage: Where the recording could not be read.
    init(
        _ routing: SnapshotRouting,
        coverage: RecordingCoverage,
        blocker: String?,
        damage: [Recording.Damage]
    ) {
        (self.routing, self.coverage, self.blocker, self.damage) = (routing, coverage, blocker, damage)
    }

    /// The same recording with another network, such as its own without a change.
    package func showing(_ routing: SnapshotRouting) -> RecordedRouting {
        var copy = self
        copy.routing = routing
        return copy
    }
}

extension RecordedRouting: ForwardingSource {
    /// The network, for queries about interfaces.
    package var base: any RoutingSource {
        get throws(ReachabilityError) {
            try check(blocker ?? coverage.blockerForInterfaces)
            return routing
        }
    }

    package func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        lookups.answer(from: first) { (query) throws(ReachabilityError) in
            try check(blocker(for: query.destination))
            return try routing.answer(to: query)
        }
        return []
    }

    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try check(blocker(for: query.destination))
        return try routing.sourceAddresses(for: query, after: answer)
    }

    private func blocker(for destination: IPAddress) -> String? {
        blocker ?? coverage.blocker(for: destination.family)
    }

    private func check(_ blocker: String?) throws(ReachabilityError) {
        guard let blocker else { return }
        throw ReachabilityError(.undecided, operation: "find a route in the recording", message: blocker)
    }
}
