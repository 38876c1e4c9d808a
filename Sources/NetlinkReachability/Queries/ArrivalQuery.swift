// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for what this host does with an arriving packet.
final class ArrivalQuery: Query {
    private let interface: InterfaceReference
    private let source: IPAddress
    private let destination: IPAddress
    private let options: ReachabilityOptions

    init(
        _ interface: InterfaceReference, _ source: IPAddress, _ destination: IPAddress,
        _ options: ReachabilityOptions
    ) {
        (self.interface, self.options) = (interface, options)
        (self.source, self.destination) = (source.unmapped, destination.unmapped)
    }

    var description: String { "a packet from \(source) to \(destination) on \(interface)" }

    func reason(_ arrival: PacketArrival) -> ReachabilityReason? { arrival.reason }

    func value(_ known: inout Known) throws(Interruption) -> PacketArrival {
        guard source.family == destination.family else {
            throw .failed(
                ReachabilityError(
                    .unsupportedFamily, operation: "find what becomes of \(description)",
                    message: "the sender and the target are of different families: "
                        + "give two IPv4 or two IPv6 addresses"))
        }
        let found = try known.interface(interface, neededTo: "find what becomes of \(description)")
        return try known.arrival(of: .arriving(on: found.index, from: source, to: destination, options))
    }
}

extension NetworkQuery<PacketArrival> {
    /// What this host does with a packet that arrives on an interface: whether it is delivered, forwarded or dropped,
    /// and why.
    ///
    /// - Parameters:
    ///   - interface: The interface. For a port of a bridge, the bridge is used.
    ///   - source: The source address of the packet.
    ///   - destination: The destination address of the packet: an address of this host, or another address.
    ///   - options: The packet's mark on arrival, protocol, ports and type of service. The source port is the
    ///     sender's. Other options have no effect.
    /// - Returns: The query. Its value is an error if the outcome is not known, such as for an IPv6 multicast
    ///   group.
    ///
    /// With the sysctl `log_martians`, the kernel logs a line for each evaluation about a source address that it
    /// refuses. Do not poll then.
    public static func arriving(
        on interface: InterfaceReference,
        from source: IPAddress,
        to destination: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(ArrivalQuery(interface, source, destination, options))
    }
}
