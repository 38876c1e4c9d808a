// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel

@testable import NetlinkReachability

extension ScriptedNetwork {
    /// Finds the path once.
    func path(_ query: PathQuery = PathQuery()) throws -> NetworkPath {
        try source.blockingValue(of: NetworkQuery(query))
    }
}

extension Route {
    /// A default route through one interface, with a gateway or without.
    static func defaultRoute(
        _ interface: UInt32,
        via gateway: String? = nil,
        metric: UInt32 = 0,
        family: IPAddress.Family = .v4
    ) -> Route {
        let nexthop = Nexthop(interfaceIndex: interface, gateway: gateway.flatMap { IPAddress($0) })
        return Route(destination: family == .v4 ? .allV4 : .allV6, priority: metric, nexthops: [nexthop])
    }
}

extension NetworkPath {
    /// The names of the available interfaces.
    var names: [String] { availableInterfaces.map(\.name) }
    /// The gateways' texts.
    var gatewayTexts: [String] { gateways.map(\.description) }
}
