// SPDX-License-Identifier: Apache-2.0

// The shim's structures as values of the model, and back.

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

extension RoutingFault {
    init(_ operation: String, _ fault: cnl_fault) {
        self.init(
            operation: operation,
            number: fault.number,
            libnl: fault.libnl,
            text: String(fixedBytes: fault.text)
        )
    }
}

extension String {
    /// Reads a C array of characters that ends with a NUL, or is full.
    init<Characters>(fixedBytes characters: Characters) {
        self = withUnsafeBytes(of: characters) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension IPAddress {
    /// Reads an address out of a C array of 16 bytes; `nil` for another family than IPv4 and IPv6.
    init?<Bytes>(family: UInt8, fixedBytes: Bytes) {
        guard let family = Family(rawValue: family) else { return nil }
        self = withUnsafeBytes(of: fixedBytes) { bytes in
            // A C array is never empty.
            bytes.baseAddress.map { IPAddress(family: family, networkBytes: $0) } ?? .any(family)
        }
    }

    /// The unspecified address of a family.
    static func any(_ family: Family) -> IPAddress {
        family == .v4 ? .anyV4 : .anyV6
    }

    /// Writes the address into a C array of 16 bytes.
    func write<Bytes>(to fixedBytes: inout Bytes) {
        withUnsafeMutableBytes(of: &fixedBytes) { target in
            withNetworkBytes { target.copyMemory(from: $0) }
        }
    }
}

extension RouteRejection {
    /// Takes the errnos with which the kernel says that there is no way; `nil` for those that say that the
    /// question failed.
    init?(kernelError number: Int32) {
        switch number {
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL:
            self.init(rawValue: number)
        case EAFNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT:
            // A kernel without IPv6 knows no such question.
            self = .noFamily
        default:
            return nil
        }
    }
}

extension cnl_route_request {
    init(_ query: RouteQuery, wantsEntry: Bool) {
        self.init()
        family = query.destination.family.rawValue
        query.destination.write(to: &destination)
        asks_for_entry = wantsEntry
        output_interface = query.outputInterface
        if let source = query.source {
            has_source = true
            source.write(to: &self.source)
        }
        has_mark = query.mark != 0
        mark = query.mark
        if let user = query.user {
            has_uid = true
            uid = user
        }
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
            mtu: link.mtu,
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
            // The parser refuses other families.
            address: own ?? .anyV6,
            peer: message.has_address && other != own ? other : nil,
            prefixLength: message.prefix_length,
            scope: RouteScope(rawValue: message.scope),
            flags: InterfaceAddressFlags(rawValue: message.flags),
            validLifetime: message.has_lifetimes && message.valid_lifetime != .max
                ? message.valid_lifetime : nil,
            preferredLifetime: message.has_lifetimes && message.preferred_lifetime != .max
                ? message.preferred_lifetime : nil
        )
    }
}

extension Nexthop {
    init(_ leg: cnl_leg) {
        self.init(
            interfaceIndex: leg.interface_index,
            gateway: IPAddress(family: leg.gateway_family, fixedBytes: leg.gateway),
            weight: leg.weight,
            flags: NexthopFlags(rawValue: leg.flags)
        )
    }
}

extension Route {
    init(_ route: cnl_route) {
        let destination = IPAddress(family: route.family, fixedBytes: route.destination) ?? .anyV6
        self.init(
            destination: IPPrefix(destination, length: Int(route.destination_length)) ?? .allV6,
            source: route.source_length == 0
                ? nil
                : IPAddress(family: route.family, fixedBytes: route.source)
                    .flatMap { IPPrefix($0, length: Int(route.source_length)) },
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
                ? IPAddress(family: route.family, fixedBytes: route.preferred_source) : nil,
            expires: route.has_lifetime && route.expires != 0 ? route.expires : nil,
            flags: route.flags
        )
    }

    fileprivate static func nexthops(of route: cnl_route) -> [Nexthop] {
        guard route.legs != nil else {
            let isNamed = route.nexthop.interface_index != 0 || route.nexthop.gateway_family != 0
            return isNamed ? [Nexthop(route.nexthop)] : []
        }
        var route = route
        var legs: [Nexthop] = []
        var offset: UInt32 = 0
        var leg = cnl_leg()
        while cnl_route_next_leg(&route, &offset, &leg) > 0 {
            legs.append(Nexthop(leg))
        }
        return legs
    }
}

extension RouteSummary {
    /// `nil` for a unicast route that names a nexthop object instead of its legs.
    init?(_ route: cnl_route) {
        let type = RouteType(rawValue: route.type)
        guard route.legs == nil else {
            self.init(type, Route.nexthops(of: route))
            return
        }
        let isNamed = route.nexthop.interface_index != 0 || route.nexthop.gateway_family != 0
        if !isNamed, route.nexthop_id != 0, type == .unicast { return nil }
        self = .entry(type, isNamed ? Nexthop(route.nexthop) : nil)
    }
}

extension Rule {
    init(_ rule: cnl_rule) {
        let family = IPAddress.Family(rawValue: rule.family) ?? .v6
        self.init(family: family, priority: rule.priority, action: Action(rule))
        isInverted = rule.is_inverted
        source = Self.prefix(family, rule.source, rule.source_length)
        destination = Self.prefix(family, rule.destination, rule.destination_length)
        tos = rule.tos
        dscp = rule.has_dscp ? Masked(rule.dscp, mask: rule.dscp_mask) : nil
        mark = rule.has_mark ? Masked(rule.mark, mask: rule.mark_mask) : nil
        inputInterface = Self.name(rule.input_name)
        outputInterface = Self.name(rule.output_name)
        users = rule.has_uid_range ? Self.range(rule.first_uid, rule.last_uid) : nil
        ipProtocol = rule.has_ip_protocol ? rule.ip_protocol : nil
        sourcePorts =
            rule.has_source_ports
            ? Self.range(rule.first_source_port, rule.last_source_port) : nil
        destinationPorts =
            rule.has_destination_ports
            ? Self.range(rule.first_destination_port, rule.last_destination_port) : nil
        tunnelID = rule.has_tunnel_id ? rule.tunnel_id : nil
        isL3MDev = rule.is_l3mdev
        suppressedPrefixLength = rule.has_suppress_prefix_length ? UInt32(rule.suppress_prefix_length) : nil
        suppressedGroup = rule.has_suppress_group ? UInt32(rule.suppress_group) : nil
        findsSource = rule.flags & 0x1_0000 != 0
        hasUnknownSelector =
            rule.has_unknown_selector || rule.flow_label_mask != 0
            || rule.source_port_mask != .max || rule.destination_port_mask != .max
    }

    private static func prefix<Bytes>(
        _ family: IPAddress.Family,
        _ bytes: Bytes,
        _ length: UInt8
    ) -> IPPrefix? {
        guard length > 0 else { return nil }
        return IPAddress(family: family.rawValue, fixedBytes: bytes)
            .flatMap { IPPrefix($0, length: Int(length)) }
    }

    private static func name<Characters>(_ characters: Characters) -> String? {
        let name = String(fixedBytes: characters)
        return name.isEmpty ? nil : name
    }

    private static func range<Bound: Comparable>(_ first: Bound, _ last: Bound) -> ClosedRange<Bound> {
        min(first, last)...max(first, last)
    }
}

extension Rule.Action {
    /// The kernel's FR_ACT numbers.
    init(_ rule: cnl_rule) {
        self =
            switch rule.action {
            case 1: .lookup(table: rule.table)
            case 2: .goto(priority: rule.target)
            case 3: .nop
            case 6: .blackhole
            case 7: .unreachable
            case 8: .prohibit
            default: .other(rule.action)
            }
    }
}
