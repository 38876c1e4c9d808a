// SPDX-License-Identifier: Apache-2.0

/// All that the rules want to know about one interface, from every source together.
public struct InterfaceFacts: Hashable, Sendable {
    /// The interface itself.
    public var link: Link
    /// The interfaces below it in this namespace, from the nearest down.
    public var lowers: [Link]
    /// The interfaces that are its ports, for a bridge, a bond or a team; empty where nobody looked.
    public var ports: [Link]
    /// Whether the kernel's device model calls it a cellular modem (sysfs `DEVTYPE=wwan`).
    public var isCellularDevice: Bool
    /// The indexes, among this interface, its lowers and its ports, of those that nl80211 lists as Wi-Fi.
    public var wirelessIndexes: Set<UInt32>
    /// Whether its addresses are the pair that pppd sets up before it dials for the first time.
    public var hasPlaceholderAddresses: Bool

    /// Gathers facts.
    public init(
        link: Link,
        lowers: [Link] = [],
        ports: [Link] = [],
        isCellularDevice: Bool = false,
        wirelessIndexes: Set<UInt32> = [],
        hasPlaceholderAddresses: Bool = false
    ) {
        self.link = link
        self.lowers = lowers
        self.ports = ports
        self.isCellularDevice = isCellularDevice
        self.wirelessIndexes = wirelessIndexes
        self.hasPlaceholderAddresses = hasPlaceholderAddresses
    }
}
