// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A network interface of this host.
///
/// Reports and paths contain interfaces as they were when the query was answered. The kernel can rename an interface
/// later. After it is removed, the kernel can give its index to another interface.
///
/// Apple's counterpart is `NWInterface`.
public struct NetworkInterface: Hashable, Sendable, Codable, Identifiable {
    /// What an interface connects to.
    ///
    /// Apple's counterpart is `NWInterface.InterfaceType`.
    public enum InterfaceType: String, Hashable, Sendable, CaseIterable, Codable {
        /// A tunnel, a dial-up link, or any other kind of interface.
        case other
        /// Wi-Fi: nl80211 lists the interface.
        case wifi
        /// A cellular modem.
        case cellular
        /// Ethernet, including virtual interfaces with an Ethernet header.
        case wiredEthernet
        /// The loopback interface.
        case loopback
    }

    /// The interface's index in its network namespace, from 1.
    ///
    /// The kernel's counterparts are `ifi_index` and `if_nametoindex(3)`.
    public let index: UInt32
    /// The interface's name, such as `eth0`.
    public let name: String
    /// What the interface connects to.
    public let type: InterfaceType

    /// Creates an interface from its parts.
    ///
    /// - Parameters:
    ///   - index: The index in the network namespace, from 1.
    ///   - name: The name.
    ///   - type: What it connects to.
    public init(index: UInt32, name: String, type: InterfaceType) {
        self.index = index
        self.name = name
        self.type = type
    }

    /// The index, which is unique in a network namespace.
    public var id: UInt32 { index }
}

extension NetworkInterface {
    /// The state of an interface, as `ip -details link` lists it.
    public struct State: Hashable, Sendable, Codable {
        /// The kind of a virtual interface, such as `vlan` or `wireguard`; `nil` if the driver reports none.
        ///
        /// The kernel's counterpart is `IFLA_INFO_KIND`.
        public let kind: String?
        /// Whether the administrator has set the interface up (`IFF_UP`).
        public let isUp: Bool
        /// Whether the interface has a carrier (`IFF_LOWER_UP`).
        public let isLowerUp: Bool
        /// The state of RFC 2863 in the words of ip-link(8), in lower case, such as `up` or `dormant`.
        ///
        /// An interface whose driver does not report the state, such as the loopback interface, has `unknown` while it
        /// works. The kernel's counterpart is `IFLA_OPERSTATE`.
        public let operationalState: String
        /// The kind of master that this interface is a port of, such as `bridge` or `bond`; `nil` without a master.
        ///
        /// An address on a port of a bridge answers no ARP: the bridge takes the packets. The kernel's counterpart is
        /// `IFLA_INFO_SLAVE_KIND`.
        public let portKind: String?
        /// Why a bridge passes no frames of the interface, its port, such as `learning`; `nil` if it does, and in a
        /// recording.
        ///
        /// The kernel's counterpart is `IFLA_BRPORT_STATE`.
        public let portBlocker: String?
        /// The ports of a bridge of which it passes no frames although they have a carrier, each with the reason, such
        /// as `eth1 (learning)`; `nil` for none, and in a recording.
        public let blockedPorts: [String]?
    }
}

extension NetworkInterface.State: CustomStringConvertible {
    /// One line: `kind vlan, up, not lower-up, operstate down`.
    public var description: String {
        (kind.map { "kind \($0), " } ?? "")
            + "\(isUp ? "up" : "not up"), \(isLowerUp ? "lower-up" : "not lower-up"), operstate \(operationalState)"
            + (portKind.map { ", port of a \($0)" } ?? "")
    }

    /// The state of an interface over others, such as the ports of a bridge.
    package init(_ link: Link, over lowers: [Link]) {
        let ports = link.kind == "bridge" ? lowers : []
        let blocked = ports.compactMap { port in port.portBlocker.map { "\(port.name) (\($0))" } }
        self.init(
            kind: link.kind.isEmpty ? nil : link.kind,
            isUp: link.flags.contains(.up),
            isLowerUp: link.flags.contains(.lowerUp),
            operationalState: link.operationalState.description,
            portKind: link.portKind.isEmpty ? nil : link.portKind,
            portBlocker: link.portBlocker,
            blockedPorts: blocked.isEmpty ? nil : blocked
        )
    }
}

extension NetworkInterface: CustomStringConvertible {
    /// The name and the type, such as `eth0 (wiredEthernet)`.
    public var description: String {
        "\(name) (\(type.rawValue))"
    }
}

extension NetworkInterface.InterfaceType: CustomStringConvertible {
    /// The type's name.
    public var description: String { rawValue }
}

extension NetworkInterface {
    /// Creates an interface from the facts about it.
    package init(_ facts: InterfaceFacts) {
        self.init(index: facts.index, name: facts.name, type: InterfaceType(facts))
    }
}

extension NetworkInterface.InterfaceType {
    /// Derives the type from the facts about an interface.
    package init(_ facts: InterfaceFacts) {
        let own = Self.of(facts.link, facts)
        let types = own == .wiredEthernet ? facts.basis.map { Self.of($0, facts) } : []
        self = if let first = types.first, types.allSatisfy({ $0 == first }) { first } else { own }
    }

    private static func of(_ link: Link, _ facts: InterfaceFacts) -> Self {
        if link.flags.contains(.loopback) { return .loopback }
        let isCellular = link.index == facts.index ? facts.traits.contains(.isCellular) : link.isCellularKind
        if isCellular { return .cellular }
        if facts.wirelessIndexes.contains(link.index) { return .wifi }
        return link.hardwareType == .ethernet && !link.leadsNowhere ? .wiredEthernet : .other
    }
}
