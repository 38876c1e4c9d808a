// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Recorded hosts whose settings are known, and what becomes of packets that arrive there.
enum ArrivalNetworks {
    /// A host with `eth0` (2, 192.0.2.2/24) and `eth1` (3, 198.51.100.2/24), the settings of a new network namespace,
    /// and no default route.
    static func host(_ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost(
            local("127.0.0.0/8", dev: 1), local("192.0.2.2/32", dev: 2), local("198.51.100.2/32", dev: 3),
            .route("192.0.2.0/24", dev: 2) { $0.scope = .link },
            .route("198.51.100.0/24", dev: 3) { $0.scope = .link },
            .address(InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 2), prefixLength: 24)),
            .address(
                InterfaceAddress(interfaceIndex: 3, address: IPAddress(198, 51, 100, 2), prefixLength: 24))
        )
        host.settings = .initial
        for index in [UInt32(1), 2, 3] {
            guard var link = host.links[index] else { continue }
            link.settings = .initial
            host.setLink(index, link)
        }
        for change in changes { host.apply(change) }
        return host
    }

    private static func local(_ prefix: String, dev index: UInt32) -> NetworkChange {
        .route(prefix, dev: index) {
            ($0.type, $0.table, $0.scope, $0.origin) = (.local, 255, .host, Route.kernelOrigin)
        }
    }

    /// Changes the settings of an interface.
    static func set(_ host: inout NetworkSnapshot, _ index: UInt32, _ change: (inout RoutingSettings) -> Void)
    {
        guard var link = host.links[index] else { return }
        change(&link.settings)
        host.setLink(index, link)
    }

    /// What becomes of a packet, in words.
    static func words(
        _ host: NetworkSnapshot, on index: UInt32, from source: String, to destination: String,
        mark: UInt32 = 0
    ) -> String {
        NetworkFacts(
            routing: SnapshotRouting(host), resolver: ScriptedResolver(), nameservers: { nil },
            addressPolicy: { .standard }
        ).arrival(on: index, from: address(source), to: address(destination), mark: mark)
    }
}

extension NetworkFacts {
    /// What becomes of a packet that arrives, in words, or the error.
    func arrival(
        on index: UInt32, from source: IPAddress, to destination: IPAddress, mark: UInt32
    ) -> String {
        let result = values(of: [()]) { (_, known) throws(Interruption) in
            var query = RouteQuery.arriving(on: index, from: source, to: destination)
            query.mark = mark
            return try known.arrival(of: query)
        }[0]
        return switch result {
        case .success(let arrival): arrival.description
        case .failure(let error): "\(error.code): \(error.message)"
        }
    }
}
