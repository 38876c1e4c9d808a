// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel
import Testing

@testable import NetlinkReachability

// Short ways to write interfaces, routes and judgements.

/// Reads an address that the test itself wrote.
func address(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> IPAddress {
    guard let address = IPAddress(text) else {
        Issue.record("\(text) is not an address", sourceLocation: sourceLocation)
        return .anyV4
    }
    return address
}

/// Reads a prefix that the test itself wrote.
func prefix(_ text: String, _ length: Int) -> IPPrefix {
    IPPrefix(address(text), length: length) ?? .allV4
}

extension Link {
    static func ethernet(_ index: UInt32, _ name: String = "eth0") -> Link {
        Link(index: index, name: name)
    }
}

extension InterfaceFacts {
    static let eth0 = InterfaceFacts(link: .ethernet(2))
    static let eth1 = InterfaceFacts(link: .ethernet(3, "eth1"))
    static let tunnel = InterfaceFacts(
        link: Link(
            index: 4,
            name: "wg0",
            hardwareType: .none,
            flags: [.up, .running, .lowerUp, .pointToPoint, .noARP],
            operationalState: .unknown,
            kind: "wireguard"
        )
    )
    /// A tunnel that carries some packets.
    static func carrying(_ payloads: TunnelPayloads) -> InterfaceFacts {
        var ends = TunnelEnds()
        ends.payloads = payloads
        return InterfaceFacts(link: Link(index: 6, name: "tnl6", hardwareType: .tunnel6, tunnel: ends))
    }
    static let loopback = InterfaceFacts(
        link: Link(
            index: 1,
            name: "lo",
            hardwareType: .loopback,
            flags: [.up, .running, .lowerUp, .loopback],
            operationalState: .unknown
        )
    )

    /// The same interface, changed.
    func with(_ change: (inout Link) -> Void) -> InterfaceFacts {
        var link = link
        change(&link)
        return InterfaceFacts(
            link: link,
            lowers: lowers,
            ports: basis,
            isCellularDevice: isCellularDevice,
            wirelessIndexes: wirelessIndexes,
            hasPlaceholderAddresses: hasPlaceholderAddresses
        )
    }

    /// The same interface with other facts.
    func with(
        lowers: [Link]? = nil,
        ports: [Link]? = nil,
        wirelessIndexes: Set<UInt32>? = nil,
        hasPlaceholderAddresses: Bool? = nil
    ) -> InterfaceFacts {
        InterfaceFacts(
            link: link,
            lowers: lowers ?? self.lowers,
            ports: ports ?? basis,
            isCellularDevice: isCellularDevice,
            wirelessIndexes: wirelessIndexes ?? self.wirelessIndexes,
            hasPlaceholderAddresses: hasPlaceholderAddresses ?? self.hasPlaceholderAddresses
        )
    }

    static let dormant = eth0.with { $0.operationalState = .dormant }
}

extension Route {
    /// A unicast route through one interface.
    static func via(_ index: UInt32, gateway: IPAddress? = nil, type: RouteType = .unicast) -> Route {
        Route(
            destination: .allV4,
            type: type,
            nexthops: [Nexthop(interfaceIndex: index, gateway: gateway)]
        )
    }

    /// A multipath route.
    static func nexthops(_ nexthops: [Nexthop], type: RouteType = .unicast) -> Route {
        Route(destination: .allV4, type: type, nexthops: nexthops)
    }
}

let gateway = IPAddress(192, 0, 2, 1)
let remote = IPAddress(198, 51, 100, 7)
let direct: ReachabilityFlags = [.reachable, .isDirect]
let own: ReachabilityFlags = [.reachable, .isLocalAddress, .isDirect]

/// The addresses that stand for the default path: one in each half of IPv4, and one of IPv6.
let lowerProbe = IPAddress(12, 0, 0, 1)
let upperProbe = IPAddress(206, 0, 0, 1)
let probeV6 = IPAddress(v6High: 0x2600 << 48, low: 1)

/// Judges one answer about ``remote`` where these interfaces exist.
func judge(
    _ route: Route,
    about candidate: Candidate = .address(remote),
    _ interfaces: InterfaceFacts...
) -> Evaluation {
    judge(.route(route), about: candidate, interfaces)
}

func judge(
    _ answer: RouteAnswer,
    about candidate: Candidate = .address(remote),
    bound: String? = nil,
    from source: IPAddress? = nil,
    ipProtocol: UInt8? = nil,
    _ interfaces: [InterfaceFacts] = []
) -> Evaluation {
    var packet = RouteQuery(
        destination: candidate.destination, outputInterface: bound == nil ? 0 : 1, source: source)
    packet.ipProtocol = ipProtocol
    let judgement = ReachabilityRules.judge(answer, of: candidate, packet) { index in
        interfaces.first { $0.link.index == index }?.traits
    }
    let facts = interfaces.first { $0.link.index == judgement.nexthop?.interfaceIndex }
    return Evaluation(
        judgement, facts,
        Evaluation.Basis(candidate: candidate, query: packet, boundInterface: bound, answer: answer))
}

/// A handle over a script.
func reachability(
    _ target: ReachabilityTarget,
    _ network: ScriptedRouting,
    resolver: ScriptedResolver = ScriptedResolver(),
    options: ReachabilityOptions = ReachabilityOptions()
) throws -> NetworkReachability {
    NetworkReachability(
        target: target,
        options: options,
        source: NetworkSource(routing: network, resolver: resolver)
    )
}
