// SPDX-License-Identifier: Apache-2.0

/// A network interface as a report shows it.
///
/// Apple's counterpart is `NWInterface`.
public struct NetworkInterface: Hashable, Sendable {
    /// What an interface connects to.
    ///
    /// Apple's counterpart is `NWInterface.InterfaceType`.
    public enum InterfaceType: String, Hashable, Sendable, CaseIterable {
        /// A tunnel, a dial-up link, or anything else.
        case other
        /// Wi-Fi, as nl80211 lists it.
        case wifi
        /// A cellular modem.
        case cellular
        /// Ethernet, and virtual interfaces that dress as it.
        case wiredEthernet
        /// This host.
        case loopback
    }

    /// The interface's number in its network namespace, from 1.
    public let index: Int
    /// The interface's name.
    public let name: String
    /// What it connects to.
    public let type: InterfaceType

    /// Names an interface.
    public init(index: Int, name: String, type: InterfaceType) {
        self.index = index
        self.name = name
        self.type = type
    }
}

extension NetworkInterface {
    /// Tells an interface's type from what is known of it.
    package init(_ facts: InterfaceFacts) {
        self.init(index: Int(facts.link.index), name: facts.link.name, type: InterfaceType(facts))
    }
}

extension NetworkInterface.InterfaceType {
    /// The kinds that take the type of what they stand on.
    private static let stacked: Set<String> = [
        "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "bond", "bridge",
    ]

    /// Tells an interface's type from what is known of it.
    package init(_ facts: InterfaceFacts) {
        let own = Self.of(facts.link, facts)
        let kind = facts.link.kind
        guard own == .wiredEthernet, !kind.isEmpty, Self.stacked.contains(kind) else {
            self = own
            return
        }
        // The lowest layer, or the ports; where they differ there is no one type to take.
        let below = facts.ports.isEmpty ? Array(facts.lowers.suffix(1)) : facts.ports
        let types = Set(below.map { Self.of($0, facts) })
        self = types.count == 1 ? types.first ?? .wiredEthernet : .wiredEthernet
    }

    private static func of(_ link: Link, _ facts: InterfaceFacts) -> Self {
        if link.flags.contains(.loopback) { return .loopback }
        if link.isCellularKind || (link.index == facts.link.index && facts.isCellularDevice) {
            return .cellular
        }
        if facts.wirelessIndexes.contains(link.index) { return .wifi }
        return link.hardwareType == .ethernet ? .wiredEthernet : .other
    }
}
