// SPDX-License-Identifier: Apache-2.0

// Policy rules: `fib_rules_lookup` and `fib_rule_match` in the kernel.

extension SnapshotLookup {
    /// Goes through the rules of the query's family until one ends the search.
    mutating func walkRules(
        _ find: (inout SnapshotLookup, UInt32) throws(RoutingFault) -> Finding
    ) throws(RoutingFault) -> Finding {
        bindToVRF()
        let rules = query.destination.family == .v4 ? snapshot.rules4 : snapshot.rules6
        var cursor = rules.start
        while let rule = rules.next(&cursor) {
            guard try matches(rule) else { continue }
            let finding: Finding
            switch rule.action {
            case .nop:
                continue
            case .goto(let priority):
                // The kernel only lets rules point forward. One without a target is passed over.
                cursor = rules.first(ofPriority: priority, from: cursor) ?? cursor
                continue
            case .lookup(let table):
                finding = try find(&self, rule.isL3MDev ? vrf?.vrfTable ?? 0 : table)
            case .unreachable: return .rejected(.noRoute)
            case .prohibit: return .rejected(.prohibited)
            case .blackhole, .other: return .rejected(.blackhole)
            }
            switch finding {
            case .next: continue
            case .rejected: return finding
            case .hit(let hit):
                if try !suppresses(rule, hit) { return finding }
            }
        }
        return .next
    }

    /// `l3mdev_update_flow`: who is bound to a VRF looks into its table, and its nexthops go through its ports.
    private mutating func bindToVRF() {
        vrf = snapshot.vrf(ofInterface: query.outputInterface)
        outputInterface = vrf?.index == query.outputInterface ? 0 : query.outputInterface
    }

    private mutating func matches(_ rule: Rule) throws(RoutingFault) -> Bool {
        let isSelected =
            matchesInterfaces(rule) && matchesFlow(rule) && matchesAddresses(rule) && matchesUser(rule)
        if isSelected, asksForSource(rule) {
            throw Self.undecided("rule \(rule.priority) selects by the source that its route would give")
        }
        if isSelected, rule.hasUnknownSelector {
            throw Self.undecided("rule \(rule.priority) has a selector that this version does not know")
        }
        return isSelected != rule.isInverted
    }

    private mutating func matchesInterfaces(_ rule: Rule) -> Bool {
        // What this host sends comes in from the loopback interface.
        if let name = rule.inputInterface, name != "lo" { return false }
        if rule.isL3MDev, vrf == nil { return false }
        guard let name = rule.outputInterface else { return true }
        if let vrf, vrf.name == name { return ask(.vrfOutput) }
        return outputInterface != 0 && snapshot.links[outputInterface]?.name == name
    }

    /// A plain question has no mark, type of service, ports or tunnel key.
    ///
    /// IPv4 takes it for UDP (`inet_rtm_getroute`).
    private func matchesFlow(_ rule: Rule) -> Bool {
        if let mark = rule.mark, !mark.matches(query.mark) { return false }
        if rule.tos != 0 { return false }
        if let dscp = rule.dscp, !dscp.matches(0) { return false }
        if let number = rule.ipProtocol, number != (rule.family == .v4 ? 17 : 0) { return false }
        return rule.tunnelID == nil && rule.sourcePorts == nil && rule.destinationPorts == nil
    }

    /// Without a source IPv4 compares 0.0.0.0, and IPv6 takes no rule that has one.
    private mutating func matchesAddresses(_ rule: Rule) -> Bool {
        if let destination = rule.destination, !destination.contains(query.destination) { return false }
        guard let source = rule.source else { return true }
        if let own = query.source, !own.isUnspecified { return source.contains(own) }
        guard rule.family == .v4 else { return rule.findsSource }
        let own = ruleSource ?? groupSource ?? .anyV4
        ruleSource = own
        return source.contains(own)
    }

    /// `fib6_rule_saddr`: whether the rule takes a packet without a source, to look at the source that it gets.
    private func asksForSource(_ rule: Rule) -> Bool {
        rule.family == .v6 && rule.findsSource && rule.source != nil && query.source?.isUnspecified ?? true
    }

    /// The source that IPv4 gives a packet to a group before it looks at rules: the first address of the
    /// interface that it is bound to, else of its VRF, else of any in the same VRF or in none
    /// (`inet_select_addr`).
    private var groupSource: IPAddress? {
        guard query.destination.isMulticastIPv4, query.outputInterface != 0 else { return nil }
        if let own = firstSource(ofInterface: query.outputInterface) { return own }
        let master = snapshot.vrf(ofInterface: query.outputInterface)?.index
        if let master, let own = firstSource(ofInterface: master) { return own }
        let peers = snapshot.links.keys.filter { snapshot.vrf(ofInterface: $0)?.index == master }
        return peers.sorted().lazy.compactMap { firstSource(ofInterface: $0) }.first
    }

    private func firstSource(ofInterface index: UInt32) -> IPAddress? {
        snapshot.addresses(ofInterface: index, family: .v4)
            .first { $0.scope == .universe && !$0.flags.contains(.secondary) }?.address
    }

    private mutating func matchesUser(_ rule: Rule) -> Bool {
        guard let users = rule.users else { return true }
        guard let user = query.user ?? snapshot.askingUser else { return ask(.user) }
        return users.contains(user)
    }

    /// `fib4_rule_suppress` and `fib6_rule_suppress`.
    private func suppresses(_ rule: Rule, _ hit: Hit) throws(RoutingFault) -> Bool {
        if let length = rule.suppressedPrefixLength, hit.route.destination.length <= length { return true }
        guard let group = rule.suppressedGroup else { return false }
        if hit.route.destination.family == .v4 {
            // Whatever nexthop is chosen, the first one counts.
            return hit.route.nexthops.first.flatMap { snapshot.links[$0.interfaceIndex] }?.group == group
        }
        let groups = Set(hit.route.nexthops.map { snapshot.links[$0.interfaceIndex]?.group })
        guard groups.count < 2 else {
            throw Self.undecided(
                "rule \(rule.priority) suppresses one nexthop of a route and the kernel chooses by hash")
        }
        return groups.first == group
    }
}
