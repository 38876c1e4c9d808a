// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The kernel of a simulated network: each question is answered from the tables as they are at that moment.
struct SimulatedRouting: RoutingSource {
    /// Lends the tables, unless questions fail.
    let tables: @Sendable () throws(RoutingFault) -> any RoutingSource

    func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try tables().answer(to: query)
    }

    func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        try tables().outline(for: query)
    }

    func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let tables = try tables()
        let answer = try tables.choice(for: query)
        guard let snapshot = (tables as? SnapshotRouting)?.snapshot else { return answer }
        return snapshot.withSource(answer, for: query)
    }

    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try tables().facts(aboutInterface: index, detail: detail)
    }

    func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        try tables().interfaceIndex(named: name)
    }

    func allLinks() throws(RoutingFault) -> [Link] {
        try tables().allLinks()
    }
}

extension SimulatedFailures {
    /// Throws what questions fail with.
    func checkQuestions() throws(RoutingFault) {
        guard let questions else { return }
        throw RoutingFault(operation: "ask for a route", number: questions.rawValue)
    }

    /// Throws what the opening of a socket fails with.
    func checkOpening() throws(RoutingFault) {
        guard let opening else { return }
        throw RoutingFault(operation: "open a netlink socket", number: opening.rawValue)
    }
}
