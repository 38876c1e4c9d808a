// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Candidates and options become lookups: the first step of an evaluation. It asks nothing.
extension CandidateLookup {
    /// Plans the lookup of a candidate for a socket.
    ///
    /// - Parameters:
    ///   - candidate: The candidate.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - isConnected: Whether the socket is connected.
    ///   - index: The interface that the socket is bound to, 0 for none; `nil` where the options and zones say it.
    ///   - isOuter: Whether a tunnel sends the packets, and no socket.
    init(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        isConnected: Bool = false,
        boundTo index: UInt32? = nil,
        isOuter: Bool = false
    ) {
        let destination = candidate.destination
        var query = RouteQuery(destination: destination.withoutZone, source: local?.withoutZone)
        options.apply(to: &query)
        query.wantsEntry = detail == .full
        let interface: InterfaceReference? =
            if let index { index == 0 ? nil : InterfaceReference(index: index) } else {
                InterfaceReference(of: destination, from: local, options)
            }
        guard local != nil || interface != nil || destination.needsZone else {
            self.init(candidate, detail, query, isConnected: isConnected, isOuter: isOuter)
            return
        }
        let end = local.map { LocalEnd(given: $0, interfaceIndex: nil) }
        let step: Step =
            if let interface {
                .findingInterface(interface)
            } else if destination.needsZone {
                .unreachable(ReachabilityReason(.needsInterface, destination.description))
            } else {
                Self.firstStep(from: end)
            }
        let binding = SocketBinding(local: end)
        self.init(
            candidate, detail, query, bindingTo: binding, isConnected: isConnected, isOuter: isOuter, step)
    }
}
