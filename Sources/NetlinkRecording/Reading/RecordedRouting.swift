// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import RoutingSimulation

/// The network at the end of a recording, as a source of facts.
///
/// A question that the recording does not decide throws a ``ReachabilityError`` with the code
/// ``ReachabilityError/Code/undecided``. Lifetimes of routes count up to the last time stamp.
///
/// Without annotations it cannot know which interfaces are Wi-Fi or cellular modems without a link kind, and whether
/// the last dump of a capture was complete.
package struct RecordedRouting: Sendable {
    /// The network, as far as the recording describes it.
    package private(set) var routing: SnapshotRouting
    /// Why no question about an IPv4 address can be answered; `nil` when it can.
    private let blockerForIPv4: String?
    /// Why no question about an IPv6 address can be answered; `nil` when it can.
    private let blockerForIPv6: String?
    /// Why no question about an interface can be answered; `nil` when it can.
    private let blockerForInterfaces: String?
    /// Where the recording could not be read.
    package var damage: [RecordingFault] = []

    /// Wraps the network.
    ///
    /// - Parameters:
    ///   - routing: The network, as far as the recording describes it.
    ///   - blockerForIPv4: Why no question about an IPv4 address can be answered; `nil` when it can.
    ///   - blockerForIPv6: Why no question about an IPv6 address can be answered; `nil` when it can.
    ///   - blockerForInterfaces: Why no question about an interface can be answered; `nil` when it can.
    package init(
        _ routing: SnapshotRouting,
        blockerForIPv4: String?,
        blockerForIPv6: String?,
        blockerForInterfaces: String?
    ) {
        self.routing = routing
        self.blockerForIPv4 = blockerForIPv4
        self.blockerForIPv6 = blockerForIPv6
        self.blockerForInterfaces = blockerForInterfaces
    }

    /// The same recording with another network, such as its own without a change.
    package func showing(_ routing: SnapshotRouting) -> RecordedRouting {
        var copy = self
        copy.routing = routing
        return copy
    }
}

extension RecordedRouting: RoutingSource {
    package func answers(to queries: [RouteQuery]) -> RoutingAnswers {
        RoutingAnswers(
            queries.map { query in
                Result { () throws(ReachabilityError) in
                    try check(blocker(for: query.destination))
                    return try routing.answer(to: query)
                }
            })
    }

    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        try check(blocker(for: query.destination))
        return try routing.sourceAddresses(for: query, after: answer)
    }

    package func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try check(blockerForInterfaces)
        return try routing.addresses()
    }

    package func links() throws(ReachabilityError) -> [Link] {
        try check(blockerForInterfaces)
        return try routing.links()
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try check(blockerForInterfaces)
        return try routing.facts(aboutInterface: index, detail: detail)
    }

    private func blocker(for destination: IPAddress) -> String? {
        destination.family == .v4 ? blockerForIPv4 : blockerForIPv6
    }

    private func check(_ blocker: String?) throws(ReachabilityError) {
        guard let blocker else { return }
        throw ReachabilityError(.undecided, operation: "find a route in the recording", message: blocker)
    }
}
