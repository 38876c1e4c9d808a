// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// A capability of the machine that a live test needs.
package enum Capability: String, CaseIterable, Sendable {
    case veth, bridge, ifb, macvlan, vxlan, vlan, vrf, bond, wireguard
    /// WireGuard interfaces whose peers `wg` can set.
    case wireguardPeers
    case tun
    /// Macvlans whose carrier can be removed, since Linux 5.1.
    case protodown
    /// Bridges that know VLANs.
    case vlanFiltering
    /// IPsec interfaces.
    case xfrm
    /// IPsec policies.
    case ipsecPolicies
    /// Routes that push labels.
    case mpls
    /// Routes that encapsulate packets in IPv6 with segments (seg6).
    case segments
    /// Tunnels that take their destination from the route.
    case externalTunnels
    /// IPv4 and IPv6 in IPv4 and in IPv6, and GRE.
    case ipTunnels
    /// `pppd` and a kernel that knows the protocol.
    case ppp
    /// Two simulated Wi-Fi radios, with `iw` and `hostapd`.
    case radios
    /// A USB modem of `g_ether` on `dummy_hcd`.
    case modem
    /// A modem of `wwan_hwsim`.
    case wwan
    /// A private mount namespace, for private copies of files below /etc.
    case mounts
    /// Nexthop objects, since Linux 5.3.
    case nexthops
    /// Renaming an interface that is up, since Linux 6.2.
    case renaming
    /// `conf/all/ignore_routes_with_linkdown` without the setting of the interface, since about Linux 5.11.
    case ignoredLinkdown
    /// MPTCP sockets that show their subflows and whether data is acknowledged, since Linux 5.17, and `ip mptcp`.
    case mptcp
    /// sock_diag that lists MPTCP sockets, since Linux 5.9: the module `mptcp_diag`.
    case mptcpList
    /// The permission to switch off IPv6 route notifications, which user namespaces do not have.
    case quietIPv6

    /// Why the machine lacks the capability; `nil` if it has the capability.
    package var blocker: String? {
        if let blocker = Self.namespaceBlocker { return blocker }
        return Self.blockers.withLock { blockers in
            if let known = blockers[self] { return known }
            let found = Self.attempt { try tryOut() }
            blockers[self] = .some(found)
            return found
        }
    }

    /// Why no namespace can be created; `nil` if one can.
    package static let namespaceBlocker: String? = attempt { _ = try TestNamespace() }

    /// The results for the capabilities tried so far.
    private static let blockers = Locked<[Capability: String?]>([:])

    private static func attempt(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    /// Uses the capability once.
    private func tryOut() throws {
        let host = try TestNamespace(self == .mounts ? .networkAndMounts : .network)
        switch self {
        case .veth, .bridge, .ifb, .bond, .wireguard:
            try host.ip("link add probed type \(rawValue)")
        case .wireguardPeers:
            try host.ip("link add probed type wireguard")
            try host.shell("wg set probed listen-port 41000")
        case .vrf:
            try host.ip("link add probed type vrf table 500")
        case .vlan:
            try host.ip(
                "link add base type veth peer name far", "link add link base name probed type vlan id 7")
        case .xfrm:
            try host.ip("link add probed type xfrm dev lo if_id 7")
        case .ipsecPolicies:
            try host.ip("xfrm policy add dir out src 192.0.2.0/24 dst 198.51.100.0/24 action block")
        case .mpls:
            try host.ip(
                "link add base type veth peer name far", "link set base up", "addr add 192.0.2.1/24 dev base")
            try host.ip("route add 198.51.100.0/24 encap mpls 100 via 192.0.2.2")
            try host.set("net/mpls/platform_labels", "100")
        case .segments:
            try host.wire("base", "2001:db8::1/64")
            let route = "-6 route add 2001:db8"
            try host.ip(
                "\(route):5::/48 encap seg6 mode encap segs 2001:db8::9 dev base",
                "\(route):7::/48 encap seg6local action End dev base")
        case .externalTunnels:
            try host.ip(
                "link add probed type vxlan external dstport 4789", "link set probed up",
                "route add 198.51.100.0/24 encap ip id 7 dst 192.0.2.77 dev probed")
        case .ipTunnels:
            for kind in ["ipip", "sit", "ip6tnl", "gre", "ip6gre"] {
                let remote = kind.hasPrefix("ip6") ? "2001:db8::9" : "192.0.2.9"
                try host.ip("link add probed-\(kind) type \(kind) remote \(remote)")
            }
        case .ppp:
            try host.shell("pppd --version && exec 3<>/dev/ppp && grep '^ppp ' /proc/tty/ldiscs")
        case .radios:
            try host.shell("iw --version && command -v hostapd")
            _ = try Self.simulatedRadios()
        case .macvlan:
            try host.ip(
                "link add base type veth peer name far", "link add link base name probed type macvlan")
        case .protodown:
            try host.wire("base")
            try host.ip(
                "link add link base name probed type macvlan", "link set probed up",
                "link set probed protodown on")
            try host.wait(for: "probed", state: "DOWN")
        case .vlanFiltering:
            try host.ip("link add probed type bridge vlan_filtering 1")
            try host.shell("bridge vlan add dev probed vid 10 self")
        case .vxlan:
            try host.ip("link add probed type vxlan id 1 dstport 4789 remote 192.0.2.1")
        case .tun:
            try host.command(["tun", "probed"])
            try host.command(["set-carrier", "probed", "0"])
        case .modem:
            _ = try Self.simulatedModem()
        case .wwan:
            try host.ip("link add probed parentdev \(Self.simulatedWWAN()) type wwan linkid 7")
        case .mounts:
            try host.shell("mount -t tmpfs none /mnt")
        case .nexthops:
            try host.ip("nexthop add id 1 blackhole")
        case .renaming:
            try host.wire("probed")
            try host.ip("link set probed name renamed")
        case .ignoredLinkdown:
            try host.wire("probed", "192.0.2.1/24")
            try host.set("net/ipv4/conf/all/ignore_routes_with_linkdown", "1")
            try host.ip("link set probed-far down")
            try host.wait(for: "probed", state: "DOWN")
            guard try host.run(["ip", "route", "get", "192.0.2.9"]).status != 0 else {
                throw NamespaceFailure("conf/all/ignore_routes_with_linkdown has no effect")
            }
        case .mptcp:
            let number = try Self.connectMultipath(host)
            guard try host.command(["exchange", number]).first == number,
                try host.command(["connection", number]).last?.isEmpty == false
            else {
                throw NamespaceFailure("MPTCP sockets do not show their subflows, or what is acknowledged")
            }
        case .mptcpList:
            _ = try Self.connectMultipath(host)
            try host.shell("ss -MH | grep .")
        case .quietIPv6:
            try host.set("net/ipv6/route/skip_notify_on_dev_down", "1")
        }
    }

    /// Connects an MPTCP socket to a server in the same namespace.
    private static func connectMultipath(_ host: TestNamespace) throws -> String {
        try host.ip("link set lo up", "mptcp limits set subflow 2 add_addr_accepted 2")
        try host.command(["serve", "mptcp"])
        return try host.command(["connect", "mptcp", "127.0.0.1"])[0]
    }

    /// The names of the two ends of a simulated USB modem.
    package static func simulatedModem() throws -> (modem: String, gadget: String) {
        func name(_ device: String) throws -> String {
            let folder = try TestNamespace().shell("ls -d /sys/devices/platform/\(device)/net/*")
            guard let name = folder.split(whereSeparator: { "/\n".contains($0) }).last else {
                throw NamespaceFailure(device)
            }
            return String(name)
        }
        return (try name("dummy_hcd.0/usb*/*/*"), try name("dummy_udc.0/gadget*"))
    }

    /// The name of the modem of `wwan_hwsim`, on which interfaces are created.
    package static func simulatedWWAN() throws -> String {
        let folder = try TestNamespace().shell("ls -d /sys/class/wwan_hwsim/*/wwan[0-9]*")
        guard let name = folder.split(whereSeparator: { "/\n".contains($0) }).last else {
            throw NamespaceFailure(folder)
        }
        return String(name)
    }

    /// The names of the radios of `mac80211_hwsim`, at least two.
    ///
    /// Radios of real hardware are not used.
    package static func simulatedRadios() throws -> [String] {
        let folders = try TestNamespace().shell("ls -d /sys/class/mac80211_hwsim/*/ieee80211/*")
        let radios = folders.split(whereSeparator: \.isNewline).compactMap {
            $0.split(separator: "/").last.map(String.init)
        }
        guard radios.count >= 2 else { throw NamespaceFailure("\(radios.count) simulated radios") }
        return radios
    }
}
