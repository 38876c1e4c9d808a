// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
internal import NetlinkRecording
import RoutingModel

/// The words for links, addresses, routes and rules and for their changes, close to the words of `ip`.
struct DifferenceText {
    /// The names of interfaces by their indexes.
    private let names: [UInt32: String]

    init(names: [UInt32: String]) {
        self.names = names
    }

    /// - Parameter states: The states that name the interfaces; a later state takes precedence.
    init(_ states: NetworkSnapshot...) {
        names = states.reduce(into: [:]) { names, state in
            for link in state.links.values { names[link.index] = link.name }
        }
    }

    /// The kind of the difference, as a key in JSON, and a sentence about it, such as "eth0 lost its carrier".
    func words(_ difference: NetworkDifference) -> (noun: String, sentence: String) {
        switch difference {
        case .link(let change): ("link", sentence(change))
        case .address(let change): ("address", sentence(change, "address", words))
        case .route(let change): ("route", sentence(change))
        case .rule(let change): ("rule", sentence(change, "rule", \.description))
        case .nexthop(let change): ("nexthop", sentence(change, "nexthop", words))
        case .neighbour(let change): ("neighbour", sentence(change))
        case .settings(let change): ("settings", Self.sentence(change.old, change.new, of: "all"))
        }
    }

    private func sentence<Value>(
        _ change: NetworkDifference.Change<Value>,
        _ noun: String,
        _ words: (Value) -> String
    ) -> String {
        switch (change.old, change.new) {
        case (let old?, let new?) where words(old) == words(new): "the \(noun) \(words(old)) changed"
        case (let old?, let new?): "the \(noun) \(words(old)) became \(words(new))"
        case (let old?, nil): "the \(noun) \(words(old)) was removed"
        case (nil, let new?): "the \(noun) \(words(new)) was added"
        case (nil, nil): "nothing changed"
        }
    }

    // MARK: Interfaces

    private func sentence(_ change: NetworkDifference.Change<Link>) -> String {
        guard let old = change.old, let new = change.new else {
            let name = change.latest?.name ?? ""
            return "the interface \(name) was \(change.kind.rawValue)"
        }
        if old.flags.contains(.up) != new.flags.contains(.up) {
            return "\(new.name) was set \(new.flags.contains(.up) ? "up" : "down")"
        }
        switch (old.hasCarrier, new.hasCarrier) {
        case (true, false): return "\(new.name) lost its carrier"
        case (false, true): return "\(new.name) got a carrier"
        default: break
        }
        if old.operationalState != new.operationalState {
            return "\(new.name) became \(new.operationalState) (operstate)"
        }
        if old.name != new.name { return "\(old.name) was renamed to \(new.name)" }
        if old.master != new.master {
            return new.master.map { "\(new.name) became a port of \(name($0))" }
                ?? "\(new.name) left \(old.master.map(name) ?? "its master")"
        }
        if old.lower != new.lower {
            return "\(new.name) now lies on \(new.lower.map(name) ?? "no other interface")"
        }
        if old.vrfTable != new.vrfTable {
            return "the table of \(new.name) became \(new.vrfTable.map(Route.tableName) ?? "none")"
        }
        if old.group != new.group { return "the group of \(new.name) became \(new.group)" }
        if old.settings != new.settings {
            let changed = Self.sentence(old.settings, new.settings, of: new.name)
            if !changed.isEmpty { return changed }
        }
        if old.flags != new.flags {
            let bits = String(old.flags.symmetricDifference(new.flags).rawValue, radix: 16)
            return "the flags of \(new.name) changed (0x\(bits))"
        }
        return "the driver's description of \(new.name) changed"
    }

    private static func sentence(_ old: RoutingSettings?, _ new: RoutingSettings?, of name: String) -> String
    {
        let settings = [
            ("ipv4", "ignore_routes_with_linkdown", \RoutingSettings.ipv4IgnoresLinkdown),
            ("ipv6", "ignore_routes_with_linkdown", \.ipv6IgnoresLinkdown),
            ("ipv6", "forwarding", \.ipv6Forwards), ("ipv4", "route_localnet", \.routesLoopback),
            ("ipv4", "forwarding", \.ipv4Forwards),
            ("ipv4", "accept_local", \.takesOwnSources),
            ("ipv4", "src_valid_mark", \.looksBackByMark),
            ("ipv4", "bc_forwarding", \.forwardsBroadcasts),
            ("ipv4", "send_redirects", \.sendsRedirects),
            ("ipv6", "disable_ipv6", \.ipv6IsOff),
            ("ipv6", "force_forwarding", \.ipv6ForwardsAlways),
            ("ipv6", "use_oif_addrs_only", \.ipv6SelectsOnInterface),
        ]
        var changed = settings.compactMap { family, setting, path in
            new?[keyPath: path].flatMap { value in
                old?[keyPath: path] == value
                    ? nil : "net.\(family).conf.\(name).\(setting) became \(value ? 1 : 0)"
            }
        }
        if let filter = new?.reversePathFilter, filter != old?.reversePathFilter {
            changed.append("net.ipv4.conf.\(name).rp_filter became \(filter)")
        }
        return changed.joined(separator: ", ")
    }

    /// The name of an interface.
    func name(_ index: UInt32) -> String {
        names[index] ?? "interface \(index)"
    }

    // MARK: Addresses and neighbours

    func words(_ address: InterfaceAddress) -> String {
        var words = "\(address.address)/\(address.prefixLength)"
        if let peer = address.peer { words = "\(address.address) peer \(peer)/\(address.prefixLength)" }
        words += " on \(name(address.interfaceIndex))"
        if address.address == HostState.madeUpLinkLocal(address.interfaceIndex) {
            words += " (its last bits are not known)"
        }
        let states: [(InterfaceAddressFlags, String)] = [
            (.tentative, "tentative"), (.deprecated, "deprecated"), (.dadFailed, "dadfailed"),
        ]
        for (flag, word) in states where address.flags.contains(flag) { words += " \(word)" }
        return words
    }

    private func sentence(_ change: NetworkDifference.Change<Neighbour>) -> String {
        guard let key = change.latest?.key else { return "" }
        let state = change.new.map(\.state)
        let answers = state.map { !$0.isDisjoint(with: .valid) } ?? false
        let event = state == nil ? "was forgotten" : answers ? "answers" : "does not answer"
        return "the neighbour \(key.address) on \(name(key.interfaceIndex)) \(event)"
    }

    // MARK: Routes

    private func sentence(_ change: NetworkDifference.Change<Route>) -> String {
        guard let old = change.old, let new = change.new, words(old) == words(new) else {
            return sentence(change, "route", words)
        }
        if change.isOrder { return "the route \(words(new)) is behind another of its metric now" }
        if (old.expires ?? 0) >= 0, (new.expires ?? 0) < 0 { return "the route \(words(new)) expired" }
        func isUnused(_ route: Route) -> Bool {
            !route.nexthops.isEmpty && route.nexthops.allSatisfy(\.isDown)
        }
        func isPassedOver(_ route: Route) -> Bool { route.nexthops.allSatisfy { $0.flags.contains(.dead) } }
        switch (isUnused(old), isUnused(new)) {
        case (true, true) where isPassedOver(new) && !isPassedOver(old):
            return
                "the route \(words(new)) without a carrier is passed over now: its interface was set down, or"
                + " ignore_routes_with_linkdown was set"
        case (true, true) where isPassedOver(old) && !isPassedOver(new):
            return "the route \(words(new)) without a carrier is used again: its interface was set up, or"
                + " ignore_routes_with_linkdown was unset"
        case (false, true): return "the route \(words(new)) lost its carrier"
        case (true, false): return "the route \(words(new)) got a carrier"
        default: return "the route \(words(new)) changed"
        }
    }

    /// A route, much as `ip route` prints it.
    func words(_ route: Route) -> String {
        var words = route.type == .unicast ? "" : "\(route.type) "
        words += route.destination.isDefault ? "default" : route.destination.shortDescription
        if let source = route.source { words += " from \(source.shortDescription)" }
        if route.nexthops.count > 1 {
            words += route.nexthops.map { " nexthop\(self.words($0))" }.joined()
        } else if let nexthop = route.nexthops.first {
            words += self.words(nexthop)
        }
        for attribute in NetworkRoute(route, name: { names[$0] }).attributes where !attribute.isOmittable {
            if let text = attribute.words { words += " \(text)" }
        }
        if route.tos != 0 { words += " tos 0x\(String(route.tos, radix: 16))" }
        return words
    }

    private func words(_ nexthop: Nexthop) -> String {
        let path = Nexthop.words(
            encapsulation: nexthop.encapsulation?.value.description, via: nexthop.gateway, "dev",
            nexthop.interfaceIndex == 0 ? nil : name(nexthop.interfaceIndex))
        let weight = nexthop.weight > 1 ? ["weight \(nexthop.weight)"] : []
        return (path + weight).map { " \($0)" }.joined()
    }

    private func words(_ object: NexthopObject) -> String {
        switch object.kind {
        case .single(let nexthop): "\(object.id)\(words(nexthop))"
        case .group(let members):
            "\(object.id) group \(members.map { "\($0.id)" }.joined(separator: "/"))"
        case .blackhole: "\(object.id) blackhole"
        case .forwarding: "\(object.id) fdb"
        }
    }
}
