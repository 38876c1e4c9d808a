// SPDX-License-Identifier: Apache-2.0

import Fakes
import LinuxSystemConfiguration
import RoutingModel

extension ScriptedNetwork {
    /// A host with one wired interface, 192.0.2.2/24.
    static func wired(hasDefault: Bool = false) -> ScriptedNetwork {
        let network = ScriptedNetwork()
        for text in ["127.0.0.0/8", "::1/128", "192.0.2.2/32"] {
            guard let prefix = IPPrefix(text) else { continue }
            let nexthop = Nexthop(interfaceIndex: prefix.contains(IPAddress(192, 0, 2, 2)) ? 2 : 1)
            let route = Route(destination: prefix, type: .local, table: Route.localTable, nexthops: [nexthop])
            network.apply(.route(route, .last))
        }
        network.setRoute(true)
        if hasDefault { network.setDefault(true) }
        return network
    }

    /// Runs a closure in which targets are created on this network, each with a monitor of its own.
    func use<Result>(_ body: () throws -> Result) rethrows -> Result {
        try NetworkInUse.$source.withValue(makeSource(), operation: body)
    }

    /// Adds or removes the IPv4 default route, and notifies.
    func setDefault(_ isPresent: Bool) {
        let gateway = Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1))
        let route = Route(destination: .allV4, nexthops: [gateway])
        apply(isPresent ? .route(route, .last) : .removedRoute(route))
    }
}
