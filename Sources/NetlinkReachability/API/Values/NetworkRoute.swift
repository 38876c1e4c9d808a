// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The routing table entry that a packet uses.
///
/// `ip route show table TABLE` lists the entry with the same values.
public struct NetworkRoute: Hashable, Sendable, Codable {
    /// The destinations of the entry; `IPPrefix.allV4` or `IPPrefix.allV6` for a default route.
    public let destination: IPPrefix
    /// The treatment of packets, in the words of ip-route(8), such as `unicast`, `local` or `blackhole`.
    ///
    /// The kernel's counterpart is `rtm_type`.
    public let type: String
    /// The number of the routing table; 254 is `main`, 255 is `local`.
    ///
    /// The kernel's counterpart is `RTA_TABLE`.
    public let table: UInt32
    /// The metric.
    ///
    /// The kernel prefers lower metrics.
    ///
    /// The kernel's counterpart is `RTA_PRIORITY`.
    public let metric: UInt32
    /// The id of the nexthop object that the entry refers to; `nil` if it refers to none.
    ///
    /// The kernel's counterpart is `RTA_NH_ID`.
    public let nexthopID: UInt32?
    /// The nexthops: several for a multipath route, none for a route that refuses packets.
    public let nexthops: [Nexthop]

    /// A nexthop of an entry: the outgoing interface, and a gateway unless the destination is on the link.
    ///
    /// The kernel's counterparts are `RTA_OIF` with `RTA_GATEWAY` or `RTA_VIA`, and an element of `RTA_MULTIPATH`.
    public struct Nexthop: Hashable, Sendable, Codable {
        /// The index of the outgoing interface; `nil` if the kernel names none.
        public let interfaceIndex: UInt32?
        /// The name of the outgoing interface; `nil` if no interface has the index.
        public let interfaceName: String?
        /// The gateway; `nil` if the destination is on the link.
        ///
        /// It can be an IPv6 address in an IPv4 route (RFC 5549).
        public let gateway: IPAddress?
        /// The encapsulation in the words of ip-route(8), such as `seg6 to 2001:db8::9`; `nil` for none.
        public let encapsulation: String?
        /// The share of the traffic that this nexthop gets among several; at least 1.
        public let weight: UInt16
        /// The state of the nexthop, and how its gateway is used.
        public let flags: Flags
    }
}

extension NetworkRoute.Nexthop {
    /// The state of a nexthop: the `RTNH_F` bits of `linux/rtnetlink.h`.
    public struct Flags: OptionSet, Hashable, Sendable, Codable {
        /// The kernel's bits, including unknown ones.
        public let rawValue: UInt8

        /// Creates a set from the kernel's bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The kernel does not use the nexthop.
        public static let dead = Flags(rawValue: NexthopFlags.dead.rawValue)
        /// The gateway is treated as on the link, regardless of the interface's addresses.
        public static let onLink = Flags(rawValue: NexthopFlags.onLink.rawValue)
        /// The interface has no carrier.
        ///
        /// The kernel still uses the nexthop, unless `ignore_routes_with_linkdown` is set.
        public static let linkDown = Flags(rawValue: NexthopFlags.linkDown.rawValue)
        /// The neighbour did not answer.
        public static let unresolved = Flags(rawValue: NexthopFlags.unresolved.rawValue)

        /// The words of ip-route(8), in the order of the bits.
        package var words: [String] {
            let named: [(Flags, String)] = [
                (.dead, "dead"), (.onLink, "onlink"), (.linkDown, "linkdown"), (.unresolved, "unresolved"),
            ]
            return named.filter { contains($0.0) }.map(\.1)
        }
    }
}

// MARK: - Attributes

extension NetworkRoute {
    /// An attribute of an entry as all output formats show it: descriptions, explanations, JSON and differences.
    package struct Attribute: Hashable, Sendable {
        /// A value in JSON.
        package enum Value: Hashable, Sendable {
            case number(UInt32)
            case text(String)
        }

        /// The key in JSON, which is the name of the property.
        package let key: String
        /// The value in JSON; `nil` for null.
        package let value: Value?
        /// The words in a text, similar to those of ip-route(8); `nil` for none.
        package let words: String?
        /// Whether a difference omits the words, because most routes have this value.
        package let isOmittable: Bool
    }

    /// The attributes other than the destination and the nexthops, in their order in JSON and in texts.
    package var attributes: [Attribute] {
        // 1024 is the metric that the kernel gives an IPv6 route without one.
        let hasNoMetric = metric == 0 || destination.family == .v6 && metric == 1_024
        return [
            // A text begins with the type.
            Attribute(key: "type", value: .text(type), words: nil, isOmittable: true),
            Attribute(
                key: "table", value: .number(table), words: "table \(Route.tableName(table))",
                isOmittable: table == Route.mainTable),
            Attribute(
                key: "metric", value: .number(metric), words: "metric \(metric)", isOmittable: hasNoMetric),
            // A difference shows the nexthops of the object instead.
            Attribute(
                key: "nexthopID", value: .number(nexthopID ?? 0), words: nexthopID.map { "nexthop id \($0)" },
                isOmittable: true),
        ]
    }
}

// MARK: - Text

extension NetworkRoute: CustomStringConvertible {
    /// The entry in the order of `ip route`: `default table main metric 100`.
    ///
    /// The type comes first, unless it is `unicast`.
    public var description: String { words(attributes) }

    /// The entry without what most routes have.
    var shortWords: String { words(attributes.filter { !$0.isOmittable }) }

    private func words(_ attributes: [Attribute]) -> String {
        let beginning = type == RouteType.unicast.description ? [] : [type]
        let prefix = destination.isDefault ? "default" : destination.description
        return (beginning + [prefix] + attributes.compactMap(\.words)).joined(separator: " ")
    }
}

extension NetworkRoute.Nexthop: CustomStringConvertible {
    /// The nexthop in words: `via 192.0.2.1 on eth0, weight 2, linkdown`.
    public var description: String {
        let interface = interfaceIndex.map { interfaceName ?? "interface \($0)" }
        let path = RoutingModel.Nexthop.words(encapsulation: encapsulation, via: gateway, "on", interface)
        let states = (weight == 1 ? [] : ["weight \(weight)"]) + flags.words
        return ([path.joined(separator: " ")] + states).joined(separator: ", ")
    }
}

extension NetworkRoute.Nexthop.Flags: CustomStringConvertible {
    /// The words of ip-route(8), such as `onlink linkdown`.
    public var description: String { words.joined(separator: " ") }
}

// MARK: - From the kernel's values

extension NetworkRoute {
    /// Creates an entry from an entry of the kernel.
    ///
    /// - Parameters:
    ///   - route: The kernel's entry.
    ///   - name: Returns the name of the interface with an index.
    package init(_ route: Route, name: (UInt32) -> String?) {
        self.init(
            destination: route.destination,
            type: route.type.description,
            table: route.table,
            metric: route.priority,
            nexthopID: route.nexthopID == 0 ? nil : route.nexthopID,
            nexthops: route.nexthops.map { Nexthop($0, name) }
        )
    }
}

extension NetworkRoute.Nexthop {
    /// Creates a nexthop from one of the kernel.
    init(_ nexthop: RoutingModel.Nexthop, _ name: (UInt32) -> String?) {
        let index = nexthop.interfaceIndex == 0 ? nil : nexthop.interfaceIndex
        self.init(
            interfaceIndex: index,
            interfaceName: index.flatMap(name),
            gateway: nexthop.gateway,
            encapsulation: nexthop.encapsulation?.value.description,
            weight: nexthop.weight,
            flags: Flags(rawValue: nexthop.flags.rawValue)
        )
    }
}
