// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import RoutingSimulation

/// The network at the end of a recording, as a source of facts.
///
/// A question that the recording does not decide throws a ``RoutingFault`` of the kind
/// ``RoutingFault/Kind/undecided``. Lifetimes of routes count up to the last time stamp.
///
/// Without annotations it cannot know which interfaces are Wi-Fi or cellular modems without a link kind, and whether
/// the last dump of a capture was complete.
package struct RecordedRouting: Sendable {
    /// The network, as far as the recording describes it.
    package private(set) var routing: SnapshotRouting
    /// Why no question about an IPv4 address can be answered; `nil` when it can.
    private let obstacleForIPv4: String?
    /// The same for IPv6.
    private let obstacleForIPv6: String?
    /// The same for questions about interfaces.
    private let obstacleForInterfaces: String?
    /// Where the recording could not be read.
    package var damage: [RecordingFault] = []

    /// Wraps the network.
    ///
    /// - Parameters:
    ///   - routing: The network, as far as the recording describes it.
    ///   - obstacleForIPv4: Why no question about an IPv4 address can be answered; `nil` when it can.
    ///   - obstacleForIPv6: The same for IPv6.
    ///   - obstacleForInterfaces: The same for questions about interfaces.
    package init(
        _ routing: SnapshotRouting,
        obstacleForIPv4: String?,
        obstacleForIPv6: String?,
        obstacleForInterfaces: String?
    ) {
        self.routing = routing
        self.obstacleForIPv4 = obstacleForIPv4
        self.obstacleForIPv6 = obstacleForIPv6
        self.obstacleForInterfaces = obstacleForInterfaces
    }

    /// The same recording with another network, such as its own without a change.
    package func showing(_ routing: SnapshotRouting) -> RecordedRouting {
        var copy = self
        copy.routing = routing
        return copy
    }
}

extension RecordedRouting: RoutingSource {
    package func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        try check(obstacle(for: query.destination))
        return try routing.lookUp(query, detail: detail)
    }

    package func sourceAddresses(
        for query: RouteQuery,
        after lookup: RouteLookup
    ) throws(RoutingFault) -> [IPAddress] {
        try check(obstacle(for: query.destination))
        return try routing.sourceAddresses(for: query, after: lookup)
    }

    package func addresses() throws(RoutingFault) -> [InterfaceAddress] {
        try check(obstacleForInterfaces)
        return try routing.addresses()
    }

    package func links() throws(RoutingFault) -> [Link] {
        try check(obstacleForInterfaces)
        return try routing.links()
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try check(obstacleForInterfaces)
        return try routing.facts(aboutInterface: index, detail: detail)
    }

    private func obstacle(for destination: IPAddress) -> String? {
        destination.family == .v4 ? obstacleForIPv4 : obstacleForIPv6
    }

    private func check(_ obstacle: String?) throws(RoutingFault) {
        guard let obstacle else { return }
        throw RoutingFault(kind: .undecided, operation: "find a route in the recording", text: obstacle)
    }
}
