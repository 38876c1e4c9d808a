// SPDX-License-Identifier: Apache-2.0

// Conversions between the shim's structures and the values of the model.

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
    /// Reads a C array of characters up to its NUL, or whole.
    init<Characters>(fixedBytes characters: Characters) {
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
    init(_ query: RouteQuery, wantsEntry: Bool) {
        self.init()
        family = query.destination.family.rawValue
        query.destination.write(to: &destination)
        wants_entry = wantsEntry
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
            // The parser accepts IPv4 and IPv6 only.
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
