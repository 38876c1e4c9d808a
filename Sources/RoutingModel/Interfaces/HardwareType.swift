// SPDX-License-Identifier: Apache-2.0

/// What kind of medium an interface says it is: the kernel's ARPHRD number.
///
/// It distinguishes tunnels and point-to-point links reliably, but not Wi-Fi or most cellular modems:
/// both show themselves as Ethernet.
///
/// The kernel's counterpart is `ifi_type`, with the numbers of `linux/if_arp.h`.
package struct HardwareType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt16

    /// Wraps a number of `linux/if_arp.h`; unknown ones are kept.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Ethernet, and everything that presents itself as Ethernet (`ARPHRD_ETHER`).
    package static let ethernet = HardwareType(rawValue: 1)
    /// A serial line (`ARPHRD_SLIP`).
    package static let slip = HardwareType(rawValue: 256)
    /// A PPP link (`ARPHRD_PPP`).
    package static let ppp = HardwareType(rawValue: 512)
    /// Raw IP, as cellular modems speak it (`ARPHRD_RAWIP`).
    package static let rawIP = HardwareType(rawValue: 519)
    /// An IPv4-in-IPv4 tunnel (`ARPHRD_TUNNEL`).
    package static let tunnel = HardwareType(rawValue: 768)
    /// A tunnel over IPv6 (`ARPHRD_TUNNEL6`).
    package static let tunnel6 = HardwareType(rawValue: 769)
    /// The loopback interface (`ARPHRD_LOOPBACK`).
    package static let loopback = HardwareType(rawValue: 772)
    /// An IPv6-in-IPv4 tunnel (`ARPHRD_SIT`).
    package static let sit = HardwareType(rawValue: 776)
    /// A GRE tunnel over IPv4 (`ARPHRD_IPGRE`).
    package static let gre = HardwareType(rawValue: 778)
    /// A GRE tunnel over IPv6 (`ARPHRD_IP6GRE`).
    package static let gre6 = HardwareType(rawValue: 823)
    /// No hardware address at all: tun, WireGuard, xfrm (`ARPHRD_NONE`).
    package static let none = HardwareType(rawValue: 65534)
}
