// SPDX-License-Identifier: Apache-2.0

// Conversions between the shim's structures and the values of the model: errors, lookups and routes.

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel
internal import SystemSupport

extension ReachabilityError {
    init(_ operation: String, _ error: cnl_error) {
        let text = String(fixedBytes: error.text)
        let offset = error.attribute_offset
        let place = offset == 0 ? "" : "the attribute at byte \(offset) of the request"
        self.init(
            operation: operation,
            number: error.number,
            message: [text, place].filter { !$0.isEmpty }.joined(separator: ": ")
        )
    }
}

extension String {
    /// Reads a C array of characters up to its NUL, or to its end.
    package init<Characters>(fixedBytes characters: Characters) {
        self = withUnsafeBytes(of: characters) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension IPAddress {
    /// Reads an address from a C array of 16 bytes; `nil` for other families than IPv4 and IPv6.
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
    /// Reads a prefix whose address is a C array of 16 bytes; `nil` for other families than IPv4 and IPv6, and for an
    /// invalid length.
    init?<Bytes>(family: UInt8, fixedBytes: Bytes, length: UInt8) {
        guard let address = IPAddress(family: family, fixedBytes: fixedBytes) else { return nil }
        self.init(address, length: Int(length))
    }
}

extension RouteRejection {
    /// Wraps an errno that means that there is no route; `nil` for an errno that means that the lookup failed.
    init?(kernelError number: Int32) {
        switch number {
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EXDEV:
            self.init(rawValue: number)
        case EAFNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT:
            // A kernel without IPv6 does not support the request.
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
        input_interface = query.inputInterface
        if let source = query.source {
            has_source = true
            source.write(to: &self.source)
        }
        mark = query.mark
        // The kernel judges an arriving IPv6 packet as the user 0 of the machine. Where no number names that user, it
        // takes a user that no rule matches without the attribute.
        let isNamed = query.inputInterface == 0 || UserNamespace.hasMachineRoot
        if isNamed || query.destination.family == .v4, let user = query.user {
            has_uid = true
            uid = user
        }
        ip_protocol = query.ipProtocol ?? 0
        source_port = query.sourcePort ?? 0
        destination_port = query.destinationPort ?? 0
        tos = query.typeOfService
    }
}

extension Nexthop {
    init(_ nexthop: cnl_nexthop) {
        self.init(
            interfaceIndex: nexthop.interface_index,
            gateway: IPAddress(family: nexthop.gateway_family, fixedBytes: nexthop.gateway),
            weight: nexthop.weight,
            flags: NexthopFlags(rawValue: nexthop.flags),
            encapsulation: nexthop.encapsulation == 0
                ? nil
                : Encapsulation(
                    nexthop.encapsulation,
                    UnsafeRawBufferPointer(
                        start: nexthop.encapsulation_bytes, count: Int(nexthop.encapsulation_length)))
        )
    }
}

extension cnl_nexthop {
    /// Whether there is a nexthop: a route through a nexthop object may have none here.
    fileprivate var isPresent: Bool {
        interface_index != 0 || gateway_family != 0
    }
}

extension Route {
    init(_ route: cnl_route) {
        let family = route.family
        self.init(
            // The parser accepts only IPv4 and IPv6, and no prefix longer than the address.
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
        var made = RouteType(rawValue: route.type)
        // The kernel keeps the route that it made for a nexthop, with the type of the packet at hand. Routes to groups
        // and to hosts can share a nexthop (`__mkroute_output`).
        if made == .unicast || made == .multicast, query.destination.family == .v4, query.inputInterface == 0
        {
            made = query.destination.isMulticast ? .multicast : .unicast
        }
        let type = query.type(of: made, origin: route.protocol)
        if route.nexthops == nil {
            self.init(type, route.nexthop.isPresent ? Nexthop(route.nexthop) : nil)
        } else {
            self.init(type, Route.nexthops(of: route))
        }
        dependsOnSource = query.dependsOnSource(type, origin: route.protocol)
        ignoresBinding = Route.ignoresBinding(route.nexthop_id, query.destination.family)
        if route.has_lifetime, route.expires != 0 { lifetime = route.expires }
        if query.selectsNexthop {
            // All zero if the kernel names no source. The kernel also omits the source if the query names it.
            source = query.source ?? IPAddress(family: route.family, fixedBytes: route.preferred_source)
            // An MTU with a lifetime is one that an exception has learned; others are set.
            if route.mtu != 0, route.flags & UInt32(RTM_F_CLONED) != 0, let lifetime, lifetime > 0 {
                pathMTU = PathMTU(mtu: route.mtu, expires: lifetime)
            }
        }
        if query.wantsEntry {
            var read = Route(route)
            read.type = made
            entry = read
        }
    }
}

extension cnl_route {
    /// Whether the kernel named only a nexthop object and not its nexthops, as with the sysctl nexthop_compat_mode=0.
    var namesNexthopObject: Bool {
        nexthop_id != 0 && nexthops == nil && !nexthop.isPresent && type == RouteType.unicast.rawValue
    }
}

extension RoutePlacement {
    /// Reads the flags that the kernel sets in a route notification.
    ///
    /// A dump sets none of these flags.
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
