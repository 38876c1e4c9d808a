// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The routing source of a simulated network: answers each question from the current tables.
struct SimulatedRouting: ForwardingSource {
    /// Returns the tables; throws when questions fail.
    let tables: @Sendable () throws(RoutingFault) -> any RoutingSource

    var base: any RoutingSource {
        get throws(RoutingFault) { try tables() }
    }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        let tables = try tables()
        let lookup = try tables.lookUp(query, detail: detail)
        guard detail == .choice, var route = lookup.route, route.preferredSource == nil else { return lookup }
        route.preferredSource = query.source
        if query.source == nil {
            route.preferredSource = try tables.sourceAddresses(for: query, after: lookup).first
        }
        return RouteLookup(.route(route))
    }
}

extension SimulatedFailures.Failure {
    /// The error of a request that fails so.
    func fault(_ operation: String) -> RoutingFault {
        RoutingFault(operation: operation, number: rawValue)
    }
}
