// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// The flags that the rules' tables say, worked out once more from the kernel's recorded answers and the
/// dumped interfaces: plainly, and by nothing of the code under test.
struct ExpectedFlags {
    let links: [UInt32: Link]
    let addresses: [InterfaceAddress]
    let cellular: Set<UInt32>
    /// Whether the kernel gives a packet that leaves its VRF an address of the outgoing interface.
    var isOlderKernel = false

    /// The flags of an address by the kernel's answer about it, bound to an interface or not.
    func flags(_ target: String, _ answer: Probe.Answer, bound: UInt32?) -> ReachabilityFlags {
        guard answer.errno == 0, let type = answer.type else { return [] }
        switch type {
        case "local", "anycast":
            // connect(2) looks for a source address in IPv6 alone.
            let nexthop = Probe.Nexthop(ifindex: answer.ifindex, gateway: nil, via: nil, flags: nil)
            let lacksSource = leavesVRF(bound, through: nexthop) && !hasVRFSource(target, bound)
            return lacksSource && target.contains(":") ? [] : [.reachable, .isLocalAddress, .isDirect]
        case "unicast", "broadcast", "multicast": break
        default: return []
        }
        var nexthops = answer.nexthops ?? []
        if nexthops.isEmpty {
            nexthops = [
                Probe.Nexthop(
                    ifindex: answer.ifindex, gateway: answer.gateway, via: answer.via,
                    flags: answer.nexthopFlags)
            ]
        }
        // A bound packet takes none of the other nexthops.
        let own = nexthops.filter { $0.ifindex == bound }
        if !own.isEmpty { nexthops = own }
        nexthops.sort { ($0.ifindex ?? 0) < ($1.ifindex ?? 0) }
        let all = nexthops.map { nexthop -> ReachabilityFlags in
            guard hasSource(target, nexthop, isBound: bound != nil),
                !leavesVRF(bound, through: nexthop) || hasVRFSource(target, bound)
            else { return [] }
            return flags(target, type, nexthop)
        }
        return all.first { !$0.isEmpty && !$0.contains(.connectionRequired) }
            ?? all.first { !$0.isEmpty } ?? []
    }

    /// Whether a socket is bound to a VRF, and the packet leaves through an interface outside of it.
    private func leavesVRF(_ bound: UInt32?, through nexthop: Probe.Nexthop) -> Bool {
        guard let bound, links[bound]?.kind == "vrf" else { return false }
        return nexthop.ifindex.flatMap { links[$0]?.master } != bound
    }

    /// Whether a packet that leaves a VRF finds an address of the VRF or of its ports; always before Linux 6.1.
    private func hasVRFSource(_ target: String, _ bound: UInt32?) -> Bool {
        isOlderKernel
            || addresses.contains { address in
                let index = address.interfaceIndex
                return (address.address.family == .v6) == target.contains(":")
                    && (index == bound || links[index]?.master == bound)
            }
    }

    /// Whether an IPv6 socket finds an address to send from: it looks on the interface for a link-local target or a
    /// group, and on the whole host for others.
    ///
    /// The kernel answers a query without one.
    private func hasSource(_ target: String, _ nexthop: Probe.Nexthop, isBound: Bool) -> Bool {
        let isOnLink =
            ["fe8", "fe9", "fea", "feb", "ff"].contains { target.hasPrefix($0) } && target.contains(":")
        guard isOnLink || (isBound && target.contains(":")) else { return true }
        return addresses.contains { address in
            let isUsable = !address.flags.contains(.tentative) || address.flags.contains(.optimistic)
            return address.address.family == .v6 && isUsable
                && (!isOnLink || address.interfaceIndex == nexthop.ifindex)
        }
    }

    /// Whether answers to a packet can arrive: an IPv6 packet that a router has to forward needs a source that is
    /// neither link-local nor ::1, an IPv4 packet any but 0.0.0.0.
    private func hasUsableSource(_ target: String, _ index: UInt32, hasGateway: Bool) -> Bool {
        let isIPv6 = target.contains(":")
        if isIPv6, !hasGateway || target.hasPrefix("fe80") { return true }
        return addresses.contains { address in
            guard (address.address.family == .v6) == isIPv6 else { return false }
            guard isIPv6 else {
                return address.scope == .universe
                    || address.scope == .link && address.interfaceIndex == index && !hasGateway
            }
            let isUsable = !address.flags.contains(.tentative) || address.flags.contains(.optimistic)
            let text = address.address.description
            return isUsable && !text.hasPrefix("fe80") && text != "::1"
        }
    }

    private func flags(_ target: String, _ type: String, _ nexthop: Probe.Nexthop) -> ReachabilityFlags {
        guard let index = nexthop.ifindex, let link = links[index], passes(link) else { return [] }
        let state = NexthopFlags(rawValue: nexthop.flags ?? 0)
        if state.contains(.dead) { return [] }
        // IPv6 nexthops over a dormant interface are marked, although it has a carrier.
        if state.contains(.linkDown), link.operationalState != .dormant { return [] }
        // The mode of the recorded ip6tnl is `any`, and sit sends all packets in each mode.
        if link.kind == "ipip", target.contains(":") { return [] }
        // A route out of the loopback interface leads back in; groups and broadcasts are taken there.
        if link.flags.contains(.loopback), target.contains(":") || type == "unicast" { return [] }
        var below = link
        for _ in 0..<16 {
            guard let next = below.lower, next != 0, next != below.index, !below.lowerIsForeign,
                below.kind != "veth", below.kind != "xfrm", let lower = links[next]
            else { break }
            if !passes(lower) { return [] }
            below = lower
        }
        var flags: ReachabilityFlags = [.reachable]
        let isPeer = isPointToPoint(link)
        let isModem = link.kind == "wwan" || link.kind == "rmnet" || cellular.contains(index)
        let hasGateway = type == "unicast" && (nexthop.gateway ?? nexthop.via) != nil
        if type == "unicast", !hasUsableSource(target, index, hasGateway: hasGateway) { return [] }
        if !hasGateway, !isPeer { flags.insert(.isDirect) }
        if target == "169.254.0.0", link.hardwareType.rawValue == 1, !isPeer, !isModem {
            flags.insert(.isDirect)
        }
        if isPeer || isModem { flags.insert(.transientConnection) }
        if isModem { flags.insert(.isWWAN) }
        if link.operationalState.rawValue == 5 {
            flags.insert(.connectionRequired)
            if isPeer || isModem { flags.insert(.connectionOnTraffic) }
        }
        if isArmed(link) { flags.formUnion([.connectionRequired, .connectionOnTraffic]) }
        return flags
    }

    private func passes(_ link: Link) -> Bool {
        let isUp = link.flags.rawValue & 0x1 != 0
        let hasCarrier = link.flags.rawValue & 0x1_0000 != 0 && link.carrier != false
        return isUp && hasCarrier && ![1, 2, 3, 4].contains(link.operationalState.rawValue)
    }

    private func isPointToPoint(_ link: Link) -> Bool {
        link.flags.rawValue & 0x10 != 0
            || [256, 512, 519, 768, 769, 776, 778, 823, 65534].contains(link.hardwareType.rawValue)
            || ["ppp", "wireguard", "ipip", "gre", "sit", "ip6tnl", "vti", "xfrm", "l2tp"].contains(link.kind)
    }

    /// Whether pppd waits for a packet to dial for the first time.
    private func isArmed(_ link: Link) -> Bool {
        link.hardwareType.rawValue == 512
            && addresses.contains {
                $0.interfaceIndex == link.index && $0.address.description.hasPrefix("10.64.64.")
                    && ($0.peer?.description.hasPrefix("10.112.112.") ?? false)
            }
    }
}
