// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// The query for what becomes of a packet that arrives.
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

    func areSame(_ one: PacketArrival, _ other: PacketArrival) -> Bool { one == other }

    func value(_ known: inout Known) throws(Interruption) -> PacketArrival {
        guard source.family == destination.family else {
            throw .failed(
                ReachabilityError(
                    .unsupportedFamily, operation: "find what becomes of \(description)",
                    message: "the sender and the target are of different families"))
        }
        guard let found = try known.interface(interface, of: destination) else {
            throw .failed(
                ReachabilityError(
                    operation: "find what becomes of \(description)", number: ENODEV,
                    message: interface.absence.description))
        }
        return try known.arrival(of: .arriving(on: found.index, from: source, to: destination, options))
    }
}

extension NetworkQuery<PacketArrival> {
    /// What becomes of a packet that arrives on an interface: whether this host takes it, forwards it, or drops it, and
    /// why.
    ///
    /// - Parameters:
    ///   - interface: The interface; a port of a bridge stands for the bridge.
    ///   - source: The sender of the packet.
    ///   - destination: Where the packet goes: an address of this host, or another one.
    ///   - options: The mark that the packet has on arrival, its protocol, ports and type of service. The source port
    ///     is the sender's. The other options do not matter.
    /// - Returns: The query. Its value is an error where the outcome is not known, such as for a group of IPv6.
    ///
    /// With the sysctl `log_martians` the kernel logs a line for each evaluation about a source that it refuses: do not
    /// poll.
    public static func arriving(
        on interface: InterfaceReference,
        from source: IPAddress,
        to destination: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(ArrivalQuery(interface, source, destination, options))
    }
}
