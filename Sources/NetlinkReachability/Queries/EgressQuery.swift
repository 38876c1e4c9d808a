// SPDX-License-Identifier: Apache-2.0

/// The query for whether packets to a target leave through an interface.
final class EgressQuery: Query {
    private let subject: FlagsQuery
    private let interface: InterfaceReference

    init(_ subject: FlagsQuery, _ interface: InterfaceReference) {
        (self.subject, self.interface) = (subject, interface)
    }

    var description: String { "whether packets to \(subject.target) leave through \(interface)" }

    var namedTarget: FlagsQuery? { subject.namedTarget }

    func value(_ known: inout Known) throws(Interruption) -> PacketEgress {
        let found = try known.interface(interface, neededTo: "find what keeps packets from \(interface)")
        return try known.egress(of: subject.target, subject.options, through: found)
    }
}

extension NetworkQuery<PacketEgress> {
    /// Whether packets to a target leave through an interface, and what keeps them from it.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - interface: The interface.
    ///   - options: The socket that sends the packets.
    /// - Returns: The query. Its value is an error where there is no such interface, and where it is not known whether
    ///   a rule selects the packets.
    public static func egress(
        of target: ReachabilityTarget,
        through interface: InterfaceReference,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(EgressQuery(FlagsQuery(target: target, options: options), interface))
    }
}
