// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for whether packets to a target leave through an interface.
final class ExitQuery: Query {
    private let subject: FlagsQuery
    private let interface: InterfaceReference

    init(_ subject: FlagsQuery, _ interface: InterfaceReference) {
        (self.subject, self.interface) = (subject, interface)
    }

    var description: String { "whether packets to \(subject.target) leave through \(interface)" }

    var namedTarget: FlagsQuery? { subject.namedTarget }

    func areSame(_ one: PacketExit, _ other: PacketExit) -> Bool { one == other }

    func value(_ known: inout Known) throws(Interruption) -> PacketExit {
        let found = try known.interface(interface, neededTo: "find what keeps packets from \(interface)")
        return try known.exit(of: subject.target, subject.options, through: found)
    }
}

extension NetworkQuery<PacketExit> {
    /// Whether packets to a target leave through an interface, and what keeps them from it.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - interface: The interface.
    ///   - options: The socket that sends the packets.
    /// - Returns: The query. Its value is an error where there is no such interface, and where it is not known whether
    ///   a rule selects the packets.
    public static func exit(
        of target: ReachabilityTarget,
        through interface: InterfaceReference,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(ExitQuery(FlagsQuery(target: target, options: options), interface))
    }
}
