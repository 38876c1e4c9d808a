// SPDX-License-Identifier: Apache-2.0

/// The state bits of an interface.
///
/// The kernel's counterpart is `ifi_flags`, with the IFF bits of `linux/if.h`.
public struct LinkFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    public let rawValue: UInt32

    /// Wraps the kernel's bits; unknown ones are kept.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Set up by the administrator (`IFF_UP`).
    public static let up = LinkFlags(rawValue: 0x1)
    /// The loopback interface (`IFF_LOOPBACK`).
    public static let loopback = LinkFlags(rawValue: 0x8)
    /// There is one peer at the other end (`IFF_POINTOPOINT`).
    public static let pointToPoint = LinkFlags(rawValue: 0x10)
    /// Up and operational (`IFF_RUNNING`); it lags behind a loss of carrier.
    public static let running = LinkFlags(rawValue: 0x40)
    /// No neighbour discovery (`IFF_NOARP`).
    public static let noARP = LinkFlags(rawValue: 0x80)
    /// Master of other interfaces: a bond or a VRF (`IFF_MASTER`).
    public static let master = LinkFlags(rawValue: 0x400)
    /// The layer below is up: there is a carrier (`IFF_LOWER_UP`).
    public static let lowerUp = LinkFlags(rawValue: 0x1_0000)
    /// Waiting for an external event (`IFF_DORMANT`); hardly ever set, see ``OperationalState/dormant``.
    public static let dormant = LinkFlags(rawValue: 0x2_0000)
}
