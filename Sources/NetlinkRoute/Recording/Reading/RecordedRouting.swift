// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// A recording as a source of facts: the network as it was at the recording's end.
///
/// Where the recording does not tell enough, a question ends with a ``RoutingFault`` of the kind
/// ``RoutingFault/Kind/undecided``; nothing is guessed. Lifetimes of routes are counted up to the recording's
/// last time stamp.
///
/// What it cannot know: where a recording has no annotations, which interfaces are Wi-Fi or hidden modems, and
/// whether the last dump of a capture was whole.
package struct RecordedRouting: Sendable {
    /// The network, as far as it was told.
    package let routing: SnapshotRouting
    /// Why no question about an IPv4 address can be answered; `nil` when it can.
    private let obstacleForIPv4: String?
    /// The same for IPv6.
    private let obstacleForIPv6: String?
    /// The same for questions about interfaces.
    private let obstacleForInterfaces: String?

    /// Reads a whole recording.
    ///
    /// Memory is needed for the network as it is at each time, not for the recording.
    ///
    /// - Parameters:
    ///   - reader: The recording, from its start.
    ///   - askingUser: Who asks when a ``RouteQuery`` names nobody. As with the kernel that is the real user of
    ///     this process; another host may know somebody else by that number.
    /// - Throws: What is wrong with the recording, and where: also a message whose attributes do not hold
    ///   together.
    package init(
        _ reader: consuming RecordingReader,
        askingUser: UInt32? = getuid()
    ) throws(RecordingFault) {
        var replay = RecordingReplay(path: reader.path)
        do {
            try reader.readAll { replay.take($0) }
        } catch {
            throw replay.fault ?? error
        }
        if let fault = replay.fault { throw fault }
        self.init(consume replay, askingUser: askingUser)
    }

    /// Takes the network as it is so far in a recording, as if that ended here.
    package init(_ replay: consuming RecordingReplay, askingUser: UInt32? = getuid()) {
        replay.finish()
        replay.snapshot.askingUser = askingUser
        routing = SnapshotRouting(
            replay.snapshot,
            wirelessIndexes: replay.wirelessIndexes,
            cellularIndexes: replay.cellularIndexes
        )
        obstacleForIPv4 = replay.coverage.obstacle(for: .v4)
        obstacleForIPv6 = replay.coverage.obstacle(for: .v6)
        obstacleForInterfaces = replay.coverage.obstacleForInterfaces
    }
}

extension RecordedRouting: RoutingSource {
    package func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        try check(query.destination.family == .v4 ? obstacleForIPv4 : obstacleForIPv6)
        return try routing.lookUp(query, detail: detail)
    }

    package func sourceAddresses(for query: RouteQuery) throws(RoutingFault) -> [IPAddress] {
        try check(obstacleForIPv6)
        return try routing.sourceAddresses(for: query)
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

    private func check(_ obstacle: String?) throws(RoutingFault) {
        guard let obstacle else { return }
        throw RoutingFault(kind: .undecided, operation: "find a route in the recording", text: obstacle)
    }
}
