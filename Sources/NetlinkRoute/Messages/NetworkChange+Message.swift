// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

extension NetworkChange {
    /// What a message tells about the network; `nil` for one that tells nothing, is malformed, or is about one
    /// address family of an interface or a bridge's port.
    package init?(_ message: NetlinkMessage) {
        switch message.content {
        case .link(let report):
            guard report.family == 0 else { return nil }
            self = .link(LinkReport(report.link, isWhole: report.isWhole))
        case .removedLink(let report):
            guard report.family == 0 else { return nil }
            self = .removedLink(index: report.link.index)
        case .address(let address): self = .address(address)
        case .removedAddress(let address): self = .removedAddress(address)
        case .route(let route): self = .route(route, RoutePlacement(messageFlags: message.flags))
        case .removedRoute(let route): self = .removedRoute(route)
        case .rule(let rule): self = .rule(rule)
        case .removedRule(let rule): self = .removedRule(rule)
        case .nexthop(let nexthop): self = .nexthop(nexthop)
        case .removedNexthop(let nexthop): self = .removedNexthop(id: nexthop.id)
        case .neighbour(let neighbour): self = .neighbour(neighbour)
        case .removedNeighbour(let neighbour): self = .removedNeighbour(neighbour.key)
        case .settings(let settings): self = .settings(settings)
        case .other, .malformed: return nil
        }
    }
}

extension RoutePlacement {
    /// Reads NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE and NLM_F_APPEND, as the kernel sets them when it announces
    /// a route; a dump has none of them.
    init(messageFlags flags: UInt16) {
        let (replace, exclusive, create, append): (UInt16, UInt16, UInt16, UInt16) = (
            0x100, 0x200, 0x400, 0x800
        )
        if flags & replace != 0 {
            self = .replacing
        } else if flags & create != 0, flags & (exclusive | append) == 0 {
            self = .first
        } else {
            self = .last
        }
    }
}

extension FamilySettings {
    init(_ settings: cnl_settings) {
        let place: Place =
            switch settings.index {
            case -1: .all
            case 1...: .interface(UInt32(settings.index))
            default: .newInterfaces
            }
        self.init(
            // The parser refuses other families.
            family: IPAddress.Family(rawValue: settings.family) ?? .v6,
            place: place,
            ignoresLinkdown: settings.has_ignores_linkdown ? settings.ignores_linkdown : nil,
            forwards: settings.has_forwards ? settings.forwards : nil
        )
    }
}

extension NexthopObject {
    init(_ nexthop: cnl_nexthop) {
        self.init(id: nexthop.id, kind: Kind(nexthop))
    }
}

extension NexthopObject.Kind {
    init(_ nexthop: cnl_nexthop) {
        if nexthop.group != nil {
            self = .group(Self.members(of: nexthop))
        } else if nexthop.is_blackhole {
            self = .blackhole
        } else if nexthop.is_fdb {
            self = .forwarding
        } else {
            self = .single(Nexthop(nexthop.leg))
        }
    }

    private static func members(of nexthop: cnl_nexthop) -> [NexthopObject.Member] {
        var nexthop = nexthop
        var members: [NexthopObject.Member] = []
        var offset: UInt32 = 0
        var member = NexthopObject.Member(id: 0)
        while cnl_nexthop_next_member(&nexthop, &offset, &member.id, &member.weight) > 0 {
            members.append(member)
        }
        return members
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
