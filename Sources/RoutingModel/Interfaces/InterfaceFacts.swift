// SPDX-License-Identifier: Apache-2.0

/// Everything that the rules use of one interface, gathered from all its sources.
///
/// A copy costs one reference count, so that facts can be cached and returned on the fast path.
package struct InterfaceFacts: Hashable, Sendable {
    private struct Contents: Hashable, Sendable {
        var link: Link
        var lowers: [Link]
        var ports: [Link]
        var isCellularDevice: Bool
        var wirelessIndexes: Set<UInt32>
        var hasPlaceholderAddresses: Bool
    }

    private let contents: Box<Contents>
    /// The index of the interface.
    package let index: UInt32
    /// How the rules read the facts.
    package let traits: InterfaceTraits

    /// The interface itself.
    package var link: Link { contents.value.link }
    /// The interfaces below it in this namespace, from the nearest down.
    package var lowers: [Link] { contents.value.lowers }
    /// The ports of a bridge, a bond or a team; empty for ``InterfaceDetail/flags``.
    package var ports: [Link] { contents.value.ports }
    /// Whether sysfs calls it a cellular modem (`DEVTYPE=wwan`).
    package var isCellularDevice: Bool { contents.value.isCellularDevice }
    /// The indexes of the interfaces that nl80211 lists as Wi-Fi; empty for ``InterfaceDetail/flags``.
    package var wirelessIndexes: Set<UInt32> { contents.value.wirelessIndexes }
    /// Whether its addresses are the pair that pppd configures before it dials for the first time.
    package var hasPlaceholderAddresses: Bool { contents.value.hasPlaceholderAddresses }

    /// Collects facts.
    package init(
        link: Link,
        lowers: [Link] = [],
        ports: [Link] = [],
        isCellularDevice: Bool = false,
        wirelessIndexes: Set<UInt32> = [],
        hasPlaceholderAddresses: Bool = false
    ) {
        contents = Box(
            Contents(
                link: link,
                lowers: lowers,
                ports: ports,
                isCellularDevice: isCellularDevice,
                wirelessIndexes: wirelessIndexes,
                hasPlaceholderAddresses: hasPlaceholderAddresses
            )
        )
        index = link.index
        traits = InterfaceTraits(
            of: link,
            above: lowers,
            isCellularDevice: isCellularDevice,
            hasPlaceholderAddresses: hasPlaceholderAddresses
        )
    }

    /// The nearest interface below that cannot send.
    package var obstructedLower: Link? {
        lowers.first { !$0.obstacle.isEmpty }
    }
}
