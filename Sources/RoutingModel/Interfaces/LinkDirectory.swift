// SPDX-License-Identifier: Apache-2.0

/// How much to find out about an interface.
package enum InterfaceDetail: Hashable, Sendable {
    /// What the flags depend on.
    case flags
    /// Also what the interface's type depends on: ports and Wi-Fi.
    case report
}

/// The tables that facts about interfaces are gathered from.
///
/// The live kernel and snapshots conform; ``facts(aboutInterface:detail:)`` derives everything else in one
/// place.
package protocol LinkDirectory {
    /// Returns an interface; `nil` when no interface has that index.
    func link(_ index: UInt32) throws(RoutingFault) -> Link?
    /// Lists every interface.
    func links() throws(RoutingFault) -> [Link]
    /// Whether the kernel's device model calls an interface a cellular modem.
    func isCellularDevice(_ link: Link) -> Bool
    /// The indexes of the interfaces that nl80211 lists as Wi-Fi; empty where that is unknown.
    var wirelessIndexes: Set<UInt32> { get }
    /// The IPv4 addresses of an interface.
    func ipv4Addresses(ofInterface index: UInt32) throws(RoutingFault) -> [InterfaceAddress]
}

extension LinkDirectory {
    /// Gathers the facts about an interface; `nil` when no interface has that index.
    package func gatherFacts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        guard let link = try link(index) else { return nil }
        let mayHaveType = detail == .report && link.mayBeWireless
        return InterfaceFacts(
            link: link,
            lowers: try lowers(of: link),
            ports: mayHaveType && link.hasPorts ? try ports(of: link) : [],
            isCellularDevice: link.mayBeModem && isCellularDevice(link),
            wirelessIndexes: mayHaveType ? wirelessIndexes : [],
            hasPlaceholderAddresses: link.hardwareType == .ppp
                ? try ipv4Addresses(ofInterface: index).contains(where: \.isDialPlaceholder) : false
        )
    }

    /// Walks down IFLA_LINK.
    ///
    /// Real stacks are a few layers deep; the bound ends a walk over a loop.
    private func lowers(of link: Link) throws(RoutingFault) -> [Link] {
        var lowers: [Link] = []
        var next = link.lowerHere
        while let index = next, lowers.count < 16, let lower = try self.link(index) {
            lowers.append(lower)
            next = lower.lowerHere
        }
        return lowers
    }

    /// The interfaces that have this one as their master, by index.
    private func ports(of link: Link) throws(RoutingFault) -> [Link] {
        try links().filter { $0.master == link.index }.sorted { $0.index < $1.index }
    }
}

extension Link {
    /// Whether the interface stands for its ports.
    private static let portKinds: Set<String> = ["bridge", "bond", "team"]

    fileprivate var hasPorts: Bool {
        !kind.isEmpty && Self.portKinds.contains(kind)
    }

    /// Whether the device model can know this interface as a cellular modem although rtnetlink does not.
    package var mayBeModem: Bool {
        kind.isEmpty && !flags.contains(.loopback)
    }

    /// Whether nl80211 can know this interface, or one that it is stacked on, as Wi-Fi.
    fileprivate var mayBeWireless: Bool {
        hardwareType == .ethernet && kind != "veth" && kind != "dummy"
    }
}
