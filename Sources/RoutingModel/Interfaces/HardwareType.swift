// SPDX-License-Identifier: Apache-2.0

/// What kind of medium an interface says it is: the kernel's ARPHRD number.
///
/// It distinguishes tunnels and point-to-point links reliably, but not Wi-Fi or most cellular modems:
/// both show themselves as Ethernet.
///
/// The kernel's counterpart is `ifi_type`, with the numbers of `linux/if_arp.h`.
public struct HardwareType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    public let rawValue: UInt16

    /// Wraps a number of `linux/if_arp.h`; unknown ones are kept.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Ethernet, and everything that presents itself as Ethernet (`ARPHRD_ETHER`).
    public static let ethernet = HardwareType(rawValue: 1)
    /// A serial line (`ARPHRD_SLIP`).
    public static let slip = HardwareType(rawValue: 256)
    /// A PPP link (`ARPHRD_PPP`).
    public static let ppp = HardwareType(rawValue: 512)
    /// Raw IP, as cellular modems speak it (`ARPHRD_RAWIP`).
    public static let rawIP = HardwareType(rawValue: 519)
    /// An IPv4-in-IPv4 tunnel (`ARPHRD_TUNNEL`).
    public static let tunnel = HardwareType(rawValue: 768)
    /// A tunnel over IPv6 (`ARPHRD_TUNNEL6`).
    public static let tunnel6 = HardwareType(rawValue: 769)
    /// The loopback interface (`ARPHRD_LOOPBACK`).
    public static let loopback = HardwareType(rawValue: 772)
    /// An IPv6-in-IPv4 tunnel (`ARPHRD_SIT`).
    public static let sit = HardwareType(rawValue: 776)
    /// A GRE tunnel over IPv4 (`ARPHRD_IPGRE`).
    public static let gre = HardwareType(rawValue: 778)
    /// A GRE tunnel over IPv6 (`ARPHRD_IP6GRE`).
    public static let gre6 = HardwareType(rawValue: 823)
    /// No hardware address at all: tun, WireGuard, xfrm (`ARPHRD_NONE`).
    public static let none = HardwareType(rawValue: 65534)
}
