// SPDX-License-Identifier: Apache-2.0

/// The tables from which facts about interfaces are derived.
///
/// The live kernel and snapshots conform; ``gatherFacts(about:isCellularDevice:detail:)`` derives everything else in
/// one place.
package protocol LinkDirectory {
    /// Returns an interface; `nil` when no interface has that index.
    func link(_ index: UInt32) throws(ReachabilityError) -> Link?
    /// Lists every interface.
    func links() throws(ReachabilityError) -> [Link]
    /// The indexes of the interfaces that nl80211 lists as Wi-Fi; empty where that is unknown.
    var wirelessIndexes: Set<UInt32> { get }
    /// The IPv4 addresses of an interface.
    func ipv4Addresses(ofInterface index: UInt32) throws(ReachabilityError) -> [InterfaceAddress]
}

extension LinkDirectory {
    /// Gathers the facts about an interface.
    ///
    /// - Parameters:
    ///   - link: The interface.
    ///   - isCellularDevice: Whether the kernel's device model calls it a cellular modem.
    ///   - detail: How much to find out.
    /// - Returns: The facts.
    /// - Throws: An error when a table cannot be read.
    package func gatherFacts(
        about link: Link,
        isCellularDevice: Bool,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts {
        let mayHaveType = detail != .flags && link.mayBeWireless
        return InterfaceFacts(
            link: link,
            lowers: try lowers(of: link),
            ports: mayHaveType && link.hasPorts ? try ports(of: link) : [],
            isCellularDevice: isCellularDevice && link.mayBeModem,
            wirelessIndexes: mayHaveType ? wirelessIndexes : [],
            hasPlaceholderAddresses: link.hardwareType == .ppp
                ? try ipv4Addresses(ofInterface: link.index).contains(where: \.isDialPlaceholder) : false
        )
    }

    /// Walks down IFLA_LINK.
    ///
    /// Real stacks are a few layers deep (MAX_NEST_DEV); the bound ends a walk over a loop.
    package func lowers(of link: Link) throws(ReachabilityError) -> [Link] {
        var lowers: [Link] = []
        var next = link.lowerHere
        while let index = next, lowers.count < 16, let lower = try self.link(index) {
            lowers.append(lower)
            next = lower.lowerHere
        }
        return lowers
    }

    /// The interfaces that have this one as their master, by index.
    private func ports(of link: Link) throws(ReachabilityError) -> [Link] {
        try links().filter { $0.master == link.index }.sorted { $0.index < $1.index }
    }
}
