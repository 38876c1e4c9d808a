// SPDX-License-Identifier: Apache-2.0

extension Rule {
    /// Compares the mark, the type of service, the protocol and the ports of a packet.
    ///
    /// Without a protocol the packet is a UDP packet. An unspecified port is 0, which no rule matches. No packet
    /// that this host sends has a tunnel key.
    package func matchesFlow(of query: RouteQuery) -> Bool {
        if let mark, !mark.matches(query.mark) { return false }
        if tos != 0, tos != query.comparedTypeOfService { return false }
        if let dscp, !dscp.matches(query.typeOfService >> 2) { return false }
        if let ipProtocol, ipProtocol != query.ipProtocol ?? RouteQuery.udp { return false }
        if let sourcePorts, !sourcePorts.contains(query.sourcePort ?? 0) { return false }
        if let destinationPorts, !destinationPorts.contains(query.destinationPort ?? 0) { return false }
        return tunnelID == nil
    }
}

extension RouteQuery {
    /// IPPROTO_UDP.
    package static let udp: UInt8 = 17

    /// The bits of the type of service that rules and IPv4 routes compare.
    ///
    /// IPv4 ignores the upper three bits (IPTOS_RT_MASK), both families ignore the two of ECN.
    package var comparedTypeOfService: UInt8 {
        typeOfService & (destination.family == .v4 ? 0x1c : 0xfc)
    }
}
