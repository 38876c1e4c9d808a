// SPDX-License-Identifier: Apache-2.0

// Conversions between the shim's structures and the values of the model.

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

extension ReachabilityError {
    init(_ operation: String, _ fault: cnl_fault) {
        self.init(
            operation: operation,
            number: fault.number,
            libnlNumber: fault.libnl,
            message: String(fixedBytes: fault.text)
        )
    }
}

extension String {
    /// Reads a C array of characters up to its NUL, or whole.
    package init<Characters>(fixedBytes characters: Characters) {
        self = withUnsafeBytes(of: characters) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension IPAddress {
    /// Reads an address from a C array of 16 bytes; `nil` for another family than IPv4 and IPv6.
    init?<Bytes>(family: UInt8, fixedBytes: Bytes) {
        guard let family = Family(rawValue: family) else { return nil }
        self = withUnsafeBytes(of: fixedBytes) { bytes in
            // A C array is never empty.
            bytes.baseAddress.map { IPAddress(family: family, networkBytes: $0) } ?? .anyV6
        }
    }

    /// Writes the address into a C array of 16 bytes.
    func write<Bytes>(to fixedBytes: inout Bytes) {
        withUnsafeMutableBytes(of: &fixedBytes) { target in
            withNetworkBytes { target.copyMemory(from: $0) }
        }
    }
}

extension IPPrefix {
    /// Reads a prefix whose address is a C array of 16 bytes; `nil` for another family than IPv4 and IPv6, and for a
    /// length that no address has.
    init?<Bytes>(family: UInt8, fixedBytes: Bytes, length: UInt8) {
        guard let address = IPAddress(family: family, fixedBytes: fixedBytes) else { return nil }
        self.init(address, length: Int(length))
    }
}

extension RouteRejection {
    /// Wraps an errno that says that there is no route; `nil` for one that says that the lookup failed.
    init?(kernelError number: Int32) {
        switch number {
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL:
            self.init(rawValue: number)
        case EAFNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT:
            // A kernel without IPv6 does not know the request.
            self = .noFamily
        default:
            return nil
        }
    }
}

extension cnl_route_request {
    init(_ query: RouteQuery) {
        self.init()
        family = query.destination.family.rawValue
        query.destination.write(to: &destination)
        wants_entry = !query.selectsNexthop
        output_interface = query.outputInterface
        if let source = query.source {
            has_source = true
            source.write(to: &self.source)
        }
        mark = query.mark
        if let user = query.user {
            has_uid = true
            uid = user
        }
        ip_protocol = query.ipProtocol ?? 0
        source_port = query.sourcePort ?? 0
        destination_port = query.destinationPort ?? 0
        tos = query.typeOfService
    }
}

extension LinkReport {
    /// `nil` for a message about one address family of an interface, or about a bridge's port.
    init?(_ link: cnl_link) {
        guard link.family == UInt8(AF_UNSPEC) else { return nil }
        self.init(Link(link), isWhole: link.has_operational_state && link.has_mtu)
    }
}

extension Link {
    init(_ link: cnl_link) {
        self.init(
            index: link.index,
            name: String(fixedBytes: link.name),
            hardwareType: HardwareType(rawValue: link.hardware_type),
            flags: LinkFlags(rawValue: link.flags),
            operationalState: OperationalState(rawValue: link.operational_state),
            carrier: link.has_carrier ? link.carrier != 0 : nil,
            kind: String(fixedBytes: link.kind),
            portKind: String(fixedBytes: link.port_kind),
            lower: link.has_lower && link.lower != 0 ? link.lower : nil,
            lowerIsForeign: link.has_lower_namespace,
            master: link.has_master ? link.master : nil,
            group: link.group,
            vrfTable: link.has_vrf_table ? link.vrf_table : nil,
            ipv4IgnoresLinkdown: link.has_ipv4_conf ? link.ipv4_ignores_linkdown : nil,
            ipv6IgnoresLinkdown: link.has_ipv6_conf ? link.ipv6_ignores_linkdown : nil,
            ipv6Forwards: link.has_ipv6_conf ? link.ipv6_forwards : nil
        )
    }
}

extension InterfaceAddress {
    init(_ message: cnl_address) {
        let local = IPAddress(family: message.family, fixedBytes: message.local)
        let other = IPAddress(family: message.family, fixedBytes: message.address)
        let own = message.has_local ? local : other
        self.init(
            interfaceIndex: message.index,
            // The parser accepts IPv4 and IPv6 only.
            address: own ?? .anyV6,
            peer: message.has_address && other != own ? other : nil,
            prefixLength: message.prefix_length,
            scope: RouteScope(rawValue: message.scope),
            flags: InterfaceAddressFlags(rawValue: message.flags)
        )
        created = message.has_created ? message.created : nil
    }
}

extension Neighbour {
    /// `nil` for another family than IPv4 and IPv6.
    init?(_ neighbour: cnl_neighbour) {
        guard let address = IPAddress(family: neighbour.family, fixedBytes: neighbour.destination) else {
            return nil
        }
        self.init(
            interfaceIndex: neighbour.interface_index,
            address: address,
            state: NeighbourState(rawValue: neighbour.state)
        )
    }
}

extension FamilySettings {
    init(_ settings: cnl_settings) {
        let place: Place =
            switch settings.index {
            case NETCONFA_IFINDEX_ALL: .all
            case 1...: .interface(UInt32(settings.index))
            default: .newInterfaces
            }
        self.init(
            // The parser accepts IPv4 and IPv6 only.
            family: IPAddress.Family(rawValue: settings.family) ?? .v6,
            place: place,
            ignoresLinkdown: settings.has_ignores_linkdown ? settings.ignores_linkdown : nil,
            forwards: settings.has_forwards ? settings.forwards : nil
        )
    }
}

// MARK: - Routes

extension Nexthop {
    init(_ nexthop: cnl_nexthop) {
        self.init(
            interfaceIndex: nexthop.interface_index,
            gateway: IPAddress(family: nexthop.gateway_family, fixedBytes: nexthop.gateway),
            weight: nexthop.weight,
            flags: NexthopFlags(rawValue: nexthop.flags)
        )
    }
}

extension cnl_nexthop {
    /// Whether the nexthop exists: a route through a nexthop object may name none.
    fileprivate var isPresent: Bool {
        interface_index != 0 || gateway_family != 0
    }
}

extension Route {
    init(_ route: cnl_route) {
        let family = route.family
        self.init(
            // The parser accepts IPv4 and IPv6 only, and no prefix longer than the address.
            destination: IPPrefix(
                family: family, fixedBytes: route.destination, length: route.destination_length) ?? .allV6,
            source: route.source_length == 0
                ? nil
                : IPPrefix(family: family, fixedBytes: route.source, length: route.source_length),
            type: RouteType(rawValue: route.type),
            table: route.table,
            scope: RouteScope(rawValue: route.scope),
            origin: route.protocol,
            tos: route.tos,
            priority: route.priority,
            preference: RouterPreference(rawValue: route.preference) ?? .medium,
            nexthops: Self.nexthops(of: route),
            nexthopID: route.nexthop_id,
            preferredSource: route.has_preferred_source
                ? IPAddress(family: family, fixedBytes: route.preferred_source) : nil,
            expires: route.has_lifetime && route.expires != 0 ? route.expires : nil,
            flags: route.flags
        )
    }

    fileprivate static func nexthops(of route: cnl_route) -> [Nexthop] {
        guard route.nexthops != nil else {
            return route.nexthop.isPresent ? [Nexthop(route.nexthop)] : []
        }
        var route = route
        var nexthops: [Nexthop] = []
        var offset: UInt32 = 0
        var nexthop = cnl_nexthop()
        while cnl_route_next_nexthop(&route, &offset, &nexthop) > 0 {
            nexthops.append(Nexthop(nexthop))
        }
        return nexthops
    }
}

extension RouteMatch {
    /// Reads the answer to a query.
    init(_ route: cnl_route, _ query: RouteQuery) {
        let type = RouteType(rawValue: route.type)
        if route.nexthops == nil {
            self.init(type, route.nexthop.isPresent ? Nexthop(route.nexthop) : nil)
        } else {
            self.init(type, Route.nexthops(of: route))
        }
        dependsOnSource = query.dependsOnSource(type, origin: route.protocol)
        if route.has_lifetime, route.expires != 0 { lifetime = route.expires }
        if query.selectsNexthop, route.has_preferred_source {
            source = IPAddress(family: route.family, fixedBytes: route.preferred_source)
        }
        if query.wantsEntry { entry = Route(route) }
    }
}

extension cnl_route {
    /// Whether the kernel named a nexthop object and not its nexthops, as with the sysctl nexthop_compat_mode=0.
    var namesNexthopObject: Bool {
        nexthop_id != 0 && nexthops == nil && !nexthop.isPresent && type == RouteType.unicast.rawValue
    }
}

extension RoutePlacement {
    /// Reads the flags that the kernel sets in a notification of a route.
    ///
    /// A dump sets none of them.
    init(messageFlags: UInt16) {
        let flags = Int32(messageFlags)
        if flags & NLM_F_REPLACE != 0 {
            self = .replacing
        } else if flags & NLM_F_CREATE != 0, flags & (NLM_F_EXCL | NLM_F_APPEND) == 0 {
            self = .first
        } else {
            self = .last
        }
    }
}

extension NexthopObject {
    init(_ object: cnl_nexthop_object) {
        let kind: Kind =
            if object.group != nil {
                .group(object.members)
            } else if object.is_blackhole {
                .blackhole
            } else if object.is_fdb {
                .forwarding
            } else {
                .single(Nexthop(object.nexthop))
            }
        self.init(id: object.id, kind: kind)
    }
}

extension cnl_nexthop_object {
    /// The members of a group.
    ///
    /// The message's bytes must still be valid.
    var members: [NexthopObject.Member] {
        var object = self
        var members: [NexthopObject.Member] = []
        var offset: UInt32 = 0
        var member = NexthopObject.Member(id: 0)
        while cnl_nexthop_object_next_member(&object, &offset, &member.id, &member.weight) > 0 {
            members.append(member)
        }
        return members
    }
}

// MARK: - Rules

extension Rule {
    init(_ rule: cnl_rule) {
        let action: Action =
            switch Int(rule.action) {
            case FR_ACT_TO_TBL: .lookup(table: rule.table)
            case FR_ACT_GOTO: .goto(priority: rule.target)
            case FR_ACT_NOP: .nop
            case FR_ACT_BLACKHOLE: .blackhole
            case FR_ACT_UNREACHABLE: .unreachable
            case FR_ACT_PROHIBIT: .prohibit
            default: .other(rule.action)
            }
        self.init(
            family: IPAddress.Family(rawValue: rule.family) ?? .v6, priority: rule.priority, action: action)
        isInverted = rule.flags & UInt32(FIB_RULE_INVERT) != 0
        source = Self.prefix(rule.family, rule.source, rule.source_length)
        destination = Self.prefix(rule.family, rule.destination, rule.destination_length)
        tos = rule.tos
        dscp = rule.has_dscp ? Masked(rule.dscp, mask: rule.dscp_mask) : nil
        mark = rule.has_mark ? Masked(rule.mark, mask: rule.mark_mask) : nil
        inputInterface = Self.name(rule.input_name)
        outputInterface = Self.name(rule.output_name)
        users = rule.has_uid_range ? Self.range(rule.first_uid, rule.last_uid) : nil
        ipProtocol = rule.ip_protocol == 0 ? nil : rule.ip_protocol
        sourcePorts =
            rule.has_source_ports ? Self.range(rule.first_source_port, rule.last_source_port) : nil
        destinationPorts =
            rule.has_destination_ports
            ? Self.range(rule.first_destination_port, rule.last_destination_port) : nil
        tunnelID = rule.tunnel_id == 0 ? nil : rule.tunnel_id
        isL3MDev = rule.is_l3mdev
        suppressedPrefixLength = UInt32(exactly: rule.suppress_prefix_length)
        suppressedGroup = UInt32(exactly: rule.suppress_group)
        findsSource = rule.flags & UInt32(FIB_RULE_FIND_SADDR) != 0
        hasUnknownSelector = rule.has_unknown_selector
    }

    /// A selector, which an empty prefix is not.
    private static func prefix<Bytes>(_ family: UInt8, _ bytes: Bytes, _ length: UInt8) -> IPPrefix? {
        length == 0 ? nil : IPPrefix(family: family, fixedBytes: bytes, length: length)
    }

    private static func name<Characters>(_ characters: Characters) -> String? {
        let name = String(fixedBytes: characters)
        return name.isEmpty ? nil : name
    }

    private static func range<Bound: Comparable>(_ first: Bound, _ last: Bound) -> ClosedRange<Bound> {
        min(first, last)...max(first, last)
    }
}
