// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

// Reads values of the model from messages, except routes.

extension LinkReport {
    /// Reads RTM_NEWLINK or RTM_DELLINK; `nil` for a message about a single address family of an interface, or about
    /// a bridge port.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(ifinfomsg.self)
        let link = try Link(body, attributes)
        guard body.ifi_family == UInt8(AF_UNSPEC) else { return nil }
        self.init(link, isWhole: attributes[IFLA_OPERSTATE] != nil && attributes[IFLA_MTU] != nil)
    }
}

extension Link {
    fileprivate init(_ body: ifinfomsg, _ attributes: Attributes) throws(MalformedMessage) {
        let info = try attributes.nested(IFLA_LINKINFO)
        let kind = try info?.text(IFLA_INFO_KIND, limit: 55) ?? ""
        let vrf = kind == "vrf" ? try info?.nested(IFLA_INFO_DATA) : nil
        // In an AF_BRIDGE message, IFLA_AF_SPEC is another structure with the same number.
        let families = body.ifi_family == UInt8(AF_UNSPEC) ? try attributes.nested(IFLA_AF_SPEC) : nil
        let ipv4 = try families?.nested(Int(AF_INET))?[IFLA_INET_CONF]
        let ipv6 = try families?.nested(Int(AF_INET6))?[IFLA_INET6_CONF]
        self.init(
            index: UInt32(bitPattern: body.ifi_index),
            name: try attributes.text(IFLA_IFNAME, limit: 15),
            hardwareType: HardwareType(rawValue: body.ifi_type),
            flags: LinkFlags(rawValue: body.ifi_flags),
            operationalState: OperationalState(rawValue: try attributes.value(IFLA_OPERSTATE) ?? 0),
            carrier: try attributes.value(IFLA_CARRIER, as: UInt8.self).map { $0 != 0 },
            kind: kind,
            portKind: try info?.text(IFLA_INFO_SLAVE_KIND, limit: 55) ?? "",
            lower: try attributes.nonzero(IFLA_LINK),
            lowerIsForeign: attributes[IFLA_LINK_NETNSID] != nil,
            master: try attributes.value(IFLA_MASTER),
            group: try attributes.value(IFLA_GROUP) ?? 0,
            sizes: PacketSizes(
                current: try attributes.value(IFLA_MTU), smallest: try attributes.value(IFLA_MIN_MTU),
                largest: try attributes.nonzero(IFLA_MAX_MTU)),
            vrfTable: try? vrf?.value(IFLA_VRF_TABLE),
            settings: RoutingSettings(ipv4: ipv4, ipv6: ipv6),
            tunnel: TunnelEnds(kind: kind, info)
        )
        if portKind == "bridge" {
            let state = try info?.nested(IFLA_INFO_SLAVE_DATA)?.value(IFLA_BRPORT_STATE, as: UInt8.self)
            portState = state.map(BridgePortState.init)
        }
        // A name has at most 127 bytes.
        alternativeNames = try attributes.texts(IFLA_PROP_LIST, limit: 127)
    }
}

extension RoutingSettings {
    /// Reads IFLA_INET_CONF and IFLA_INET6_CONF.
    ///
    /// A setting beyond the end of the array does not exist in that kernel. The indices are written out because
    /// linux/ipv6.h clashes with glibc. Those of IPv4 are IPV4_DEVCONF_* minus 1.
    fileprivate init(ipv4: UnsafeRawBufferPointer?, ipv6: UnsafeRawBufferPointer?) {
        func number(_ index: Int, of array: UnsafeRawBufferPointer?) -> Int32? {
            let offset = index * MemoryLayout<Int32>.size
            guard let array, array.count >= offset + MemoryLayout<Int32>.size else { return nil }
            return array.loadUnaligned(fromByteOffset: offset, as: Int32.self)
        }
        func isSet(_ index: Int, of array: UnsafeRawBufferPointer?) -> Bool? {
            number(index, of: array).map { $0 != 0 }
        }
        self.init()
        // IPV4_DEVCONF_FORWARDING
        ipv4Forwards = isSet(0, of: ipv4)
        // IPV4_DEVCONF_SEND_REDIRECTS
        sendsRedirects = isSet(5, of: ipv4)
        // IPV4_DEVCONF_RP_FILTER
        reversePathFilter = number(7, of: ipv4).map(UInt8.init(clamping:))
        // IPV4_DEVCONF_ACCEPT_LOCAL
        takesOwnSources = isSet(22, of: ipv4)
        // IPV4_DEVCONF_SRC_VMARK
        looksBackByMark = isSet(23, of: ipv4)
        // IPV4_DEVCONF_ROUTE_LOCALNET
        routesLoopback = isSet(25, of: ipv4)
        // IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN
        ipv4IgnoresLinkdown = isSet(28, of: ipv4)
        // IPV4_DEVCONF_BC_FORWARDING
        forwardsBroadcasts = isSet(31, of: ipv4) ?? (ipv4 == nil ? nil : false)
        // DEVCONF_FORWARDING
        ipv6Forwards = isSet(0, of: ipv6)
        // DEVCONF_DISABLE_IPV6
        ipv6IsOff = isSet(26, of: ipv6)
        // DEVCONF_USE_OIF_ADDRS_ONLY
        ipv6SelectsOnInterface = isSet(37, of: ipv6)
        // DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN
        ipv6IgnoresLinkdown = isSet(39, of: ipv6)
        // DEVCONF_FORCE_FORWARDING
        ipv6ForwardsAlways = isSet(59, of: ipv6) ?? (ipv6 == nil ? nil : false)
    }
}

extension InterfaceAddress {
    /// Reads RTM_NEWADDR or RTM_DELADDR; `nil` for other families than IPv4 and IPv6.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(ifaddrmsg.self)
        guard let family = IPAddress.Family(rawValue: body.ifa_family) else { return nil }
        guard body.ifa_prefixlen <= family.bitWidth else { throw MalformedMessage() }
        let other = try attributes.address(IFA_ADDRESS, family)
        let own = try attributes.address(IFA_LOCAL, family) ?? other ?? .any(family)
        self.init(
            interfaceIndex: body.ifa_index,
            address: own,
            peer: other == own ? nil : other,
            prefixLength: body.ifa_prefixlen,
            scope: RouteScope(rawValue: body.ifa_scope),
            // The fixed part contains only the lowest eight flags.
            flags: InterfaceAddressFlags(
                rawValue: try attributes.value(IFA_FLAGS) ?? UInt32(body.ifa_flags))
        )
        let times = try attributes.value(IFA_CACHEINFO, as: ifa_cacheinfo.self)
        if family == .v4 { broadcast = try attributes.address(IFA_BROADCAST, family) }
        created = times?.cstamp
        isExpired = times?.ifa_valid == 0
    }
}

extension Neighbour {
    /// Reads RTM_NEWNEIGH or RTM_DELNEIGH; `nil` for another kind of entry, such as one of a bridge's forwarding
    /// table.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(ndmsg.self)
        guard let family = IPAddress.Family(rawValue: body.ndm_family),
            let address = try attributes.address(NDA_DST, family)
        else { return nil }
        self.init(
            interfaceIndex: UInt32(bitPattern: body.ndm_ifindex),
            address: address,
            state: NeighbourState(rawValue: body.ndm_state)
        )
    }
}

extension Neighbour {
    /// Reads the hardware address of RTM_NEWNEIGH; `nil` if the entry has no valid one.
    static func hardwareAddress(
        _ message: NetlinkMessage
    ) throws(MalformedMessage) -> (key: Key, value: [UInt8])? {
        guard let neighbour = try Neighbour(message), !neighbour.state.isDisjoint(with: .valid) else {
            return nil
        }
        let (_, attributes) = try message.parts(ndmsg.self)
        guard let bytes = attributes[NDA_LLADDR], !bytes.isEmpty, bytes.contains(where: { $0 != 0 }) else {
            return nil
        }
        return (neighbour.key, Array(bytes))
    }
}

extension SettingsReport {
    /// Reads RTM_NEWNETCONF; `nil` for other families than IPv4 and IPv6.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(netconfmsg.self)
        guard let family = IPAddress.Family(rawValue: body.ncm_family),
            let index = try attributes.value(NETCONFA_IFINDEX, as: Int32.self)
        else { return nil }
        let place: Place =
            switch index {
            case NETCONFA_IFINDEX_ALL: .all
            case 1...: .interface(UInt32(index))
            default: .newInterfaces
            }
        func isSet(_ type: Int) throws(MalformedMessage) -> Bool? {
            try attributes.value(type, as: Int32.self).map { $0 != 0 }
        }
        self.init(place) { _ in }
        let ignoresLinkdown = try isSet(NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN)
        let forwards = try isSet(NETCONFA_FORWARDING)
        switch family {
        case .v4:
            (settings.ipv4IgnoresLinkdown, settings.ipv4Forwards) = (ignoresLinkdown, forwards)
            settings.reversePathFilter = try attributes.value(NETCONFA_RP_FILTER, as: Int32.self)
                .map(UInt8.init(clamping:))
            settings.forwardsBroadcasts = try isSet(NETCONFA_BC_FORWARDING)
        case .v6: (settings.ipv6IgnoresLinkdown, settings.ipv6Forwards) = (ignoresLinkdown, forwards)
        }
    }
}

extension Encapsulation {
    /// Reads RTA_ENCAP, whose attributes depend on the kind.
    ///
    /// The destination of the outer packet is LWTUNNEL_IP_DST or LWTUNNEL_IP6_DST, or the first segment of
    /// SEG6_IPTUNNEL_SRH. A truncated attribute has no destination.
    init(_ kind: UInt16, _ bytes: UnsafeRawBufferPointer) {
        self.init(Kind(rawValue: kind))
        guard let attributes = try? Attributes(bytes) else { return }
        switch self.kind {
        case .ip: destination = (try? attributes.address(Self.LWTUNNEL_IP_DST, .v4)) ?? nil
        case .ip6: destination = (try? attributes.address(Self.LWTUNNEL_IP6_DST, .v6)) ?? nil
        case .seg6: destination = attributes[Self.SEG6_IPTUNNEL_SRH].flatMap(Self.firstSegment)
        default: break
        }
        // The kernel also sends the address if none was configured. A link-local address has no interface here.
        if let given = destination, given.isUnspecified || given.needsZone { destination = nil }
    }

    private static let (LWTUNNEL_IP_DST, LWTUNNEL_IP6_DST, SEG6_IPTUNNEL_SRH) = (2, 2, 1)

    /// The first segment of `seg6_iptunnel_encap`: a mode of four bytes, then a routing header.
    ///
    /// Its fifth byte is the index of the first segment in its list of segments, which begins after eight bytes.
    private static func firstSegment(_ bytes: UnsafeRawBufferPointer) -> IPAddress? {
        guard bytes.count > 8 else { return nil }
        let offset = 12 + 16 * Int(bytes[8])
        guard bytes.count >= offset + 16, let start = bytes.baseAddress else { return nil }
        return IPAddress(family: .v6, networkBytes: start + offset)
    }
}

extension NexthopObject {
    /// Reads RTM_NEWNEXTHOP or RTM_DELNEXTHOP.
    init(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(nhmsg.self)
        let nexthop = Nexthop(
            interfaceIndex: try attributes.value(NHA_OIF) ?? 0,
            gateway: try attributes.address(NHA_GATEWAY, IPAddress.Family(rawValue: body.nh_family)),
            flags: NexthopFlags(rawValue: UInt8(truncatingIfNeeded: body.nh_flags)),
            encapsulation: try attributes.nonzero(NHA_ENCAP_TYPE).map {
                Encapsulation($0, attributes[NHA_ENCAP] ?? UnsafeRawBufferPointer(start: nil, count: 0))
            }
        )
        let kind: Kind =
            if let group = attributes[NHA_GROUP] {
                .group(try Self.members(group))
            } else if attributes[NHA_BLACKHOLE] != nil {
                .blackhole
            } else if attributes[NHA_FDB] != nil {
                .forwarding
            } else {
                .single(nexthop)
            }
        self.init(id: try attributes.value(NHA_ID) ?? 0, kind: kind)
    }

    /// Reads NHA_GROUP.
    private static func members(_ group: UnsafeRawBufferPointer) throws(MalformedMessage) -> [Member] {
        let size = MemoryLayout<nexthop_grp>.size
        guard group.count.isMultiple(of: size) else { throw MalformedMessage() }
        return stride(from: 0, to: group.count, by: size).map { offset in
            // The kernel sends the weight minus one. Since Linux 6.12, the high byte of the weight follows, which
            // older headers call resvd1.
            let weight = group.loadUnaligned(fromByteOffset: offset + 4, as: UInt16.self)
            return Member(
                id: group.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                weight: UInt16(littleEndian: weight) &+ 1
            )
        }
    }
}

extension IPAddress {
    /// The zero address of a family.
    static func any(_ family: Family) -> IPAddress {
        family == .v4 ? .anyV4 : .anyV6
    }
}

/// Attributes of `linux/fib_rules.h` that the headers at build time may lack.
private enum NewRuleAttribute {
    static let dscp = 25
    static let flowLabelMask = 27
    static let sourcePortMask = 28
    static let destinationPortMask = 29
    static let dscpMask = 30
    /// The highest known type.
    static let last = 30
}

extension Rule {
    /// Reads RTM_NEWRULE or RTM_DELRULE; `nil` for other families than IPv4 and IPv6, such as the rules of multicast
    /// routing (RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR) in the same dump.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(fib_rule_hdr.self)
        guard let family = IPAddress.Family(rawValue: body.family) else { return nil }
        guard max(body.dst_len, body.src_len) <= family.bitWidth else { throw MalformedMessage() }
        self.init(
            family: family,
            priority: try attributes.value(FRA_PRIORITY) ?? 0,
            action: try Action(body, attributes)
        )
        isInverted = body.flags & UInt32(FIB_RULE_INVERT) != 0
        findsSource = body.flags & UInt32(FIB_RULE_FIND_SADDR) != 0
        tos = body.tos
        try readSelectors(body, attributes)
        isL3MDev = try attributes.value(FRA_L3MDEV, as: UInt8.self) ?? 0 != 0
        // Old kernels omit the attributes if nothing is suppressed, and newer ones send -1.
        suppressedPrefixLength = UInt32(exactly: try attributes.value(FRA_SUPPRESS_PREFIXLEN) ?? Int32(-1))
        suppressedGroup = UInt32(exactly: try attributes.value(FRA_SUPPRESS_IFGROUP) ?? Int32(-1))
    }

    private mutating func readSelectors(
        _ body: fib_rule_hdr,
        _ attributes: Attributes
    ) throws(MalformedMessage) {
        source = Self.prefix(try attributes.address(FRA_SRC, family) ?? .any(family), body.src_len)
        destination = Self.prefix(try attributes.address(FRA_DST, family) ?? .any(family), body.dst_len)
        let input = try attributes.text(FRA_IIFNAME, limit: 15)
        inputInterface = input.isEmpty ? nil : input
        let output = try attributes.text(FRA_OIFNAME, limit: 15)
        outputInterface = output.isEmpty ? nil : output
        // Without a mask, all bits of a mark or a DSCP are compared.
        let mark = try attributes.value(FRA_FWMARK, as: UInt32.self)
        let markMask = try attributes.value(FRA_FWMASK, as: UInt32.self)
        self.mark = mark == nil && markMask == nil ? nil : Masked(mark ?? 0, mask: markMask ?? .max)
        let dscpMask = try attributes.value(NewRuleAttribute.dscpMask, as: UInt8.self)
        dscp = try attributes.value(NewRuleAttribute.dscp).map { Masked($0, mask: dscpMask ?? .max) }
        let users = try attributes.value(FRA_UID_RANGE, as: fib_rule_uid_range.self)
        self.users = users.map { Self.range($0.start, $0.end) }
        ipProtocol = try attributes.nonzero(FRA_IP_PROTO)
        let sources = try attributes.value(FRA_SPORT_RANGE, as: fib_rule_port_range.self)
        sourcePorts = sources.map { Self.range($0.start, $0.end) }
        let destinations = try attributes.value(FRA_DPORT_RANGE, as: fib_rule_port_range.self)
        destinationPorts = destinations.map { Self.range($0.start, $0.end) }
        tunnelID = try attributes.nonzero(FRA_TUN_ID).map(UInt64.init(bigEndian:))
        sourcePortMask = try attributes.value(NewRuleAttribute.sourcePortMask) ?? .max
        destinationPortMask = try attributes.value(NewRuleAttribute.destinationPortMask) ?? .max
        let flowLabelMask = try attributes.value(NewRuleAttribute.flowLabelMask) ?? UInt32(0)
        hasUnknownSelector = attributes.highestType > NewRuleAttribute.last || flowLabelMask != 0
    }

    /// A prefix as a selector; `nil` for an empty prefix, which selects nothing.
    private static func prefix(_ address: IPAddress, _ length: UInt8) -> IPPrefix? {
        length == 0 ? nil : IPPrefix(address, length: Int(length))
    }

    private static func range<Bound: Comparable>(_ first: Bound, _ last: Bound) -> ClosedRange<Bound> {
        min(first, last)...max(first, last)
    }
}

extension Rule.Action {
    fileprivate init(_ body: fib_rule_hdr, _ attributes: Attributes) throws(MalformedMessage) {
        let table = try attributes.value(FRA_TABLE) ?? UInt32(body.table)
        let target = try attributes.value(FRA_GOTO) ?? UInt32(0)
        self =
            switch Int(body.action) {
            case FR_ACT_TO_TBL: .lookup(table: table)
            case FR_ACT_GOTO: .goto(priority: target)
            case FR_ACT_NOP: .nop
            case FR_ACT_BLACKHOLE: .blackhole
            case FR_ACT_UNREACHABLE: .unreachable
            case FR_ACT_PROHIBIT: .prohibit
            default: .other(body.action)
            }
    }
}
