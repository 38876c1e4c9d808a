// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// Policy rules: `fib_rules_lookup` and `fib_rule_match` in the kernel.

extension SnapshotLookup {
    /// Walks the rules of the query's family until one ends the search.
    mutating func walkRules() throws(ReachabilityError) -> Finding? {
        bindToVRF()
        let rules = snapshot.ruleLists[query.destination.family]
        var start: UInt32 = 0
        var suppressed: Hit?
        for rule in rules.all where rule.priority >= start {
            guard try matches(rule) else { continue }
            switch rule.action {
            case .nop: continue
            case .goto(let priority):
                // The kernel only lets rules point forward. One without a target is passed over.
                if rules.contains(priority: priority) { start = priority }
            case .lookup(let table):
                // `fib_get_table` and `fib6_get_table` take the table 0 for main.
                let number = rule.isL3MDev ? vrf?.vrfTable ?? Route.mainTable : table
                let finding = try find(inTable: number)
                if snapshot.routeTables.index(ofTable: number, .v6) != nil { suppressed = nil }
                guard let finding else { continue }
                guard case .hit(let hit) = finding, try suppresses(rule, hit) else { return finding }
                suppressed = hit
            case .unreachable: return .rejected(.noRoute)
            case .prohibit: return .rejected(.prohibited)
            case .blackhole, .other: return .rejected(.blackhole)
            }
        }
        guard let suppressed, query.destination.family == .v6, usesSuppressedRoutes() else { return nil }
        return .hit(suppressed)
    }

    /// Whether an IPv6 route that a rule suppressed is used when no later rule finds another.
    ///
    /// Linux 5.10 does (`fib6_rule_lookup` keeps the result of the last table), Linux 6.1 does not.
    private mutating func usesSuppressedRoutes() -> Bool {
        snapshot.isKernel(before: 6, 1) && (snapshot.isKernel(before: 5, 11) || ask(.suppressedRoute))
    }

    /// `l3mdev_update_flow`: a query that is bound to a VRF uses its table, whose nexthops use its ports.
    ///
    /// So does a packet that arrives on one of them.
    fileprivate mutating func bindToVRF() {
        vrf = snapshot.vrf(ofInterface: domainInterface)
        outputInterface = vrf?.index == outputInterface ? 0 : outputInterface
    }

    fileprivate mutating func matches(_ rule: Rule) throws(ReachabilityError) -> Bool {
        let isSelected =
            matchesInterfaces(rule) && rule.matchesFlow(of: query) && matchesAddresses(rule)
            && matchesUser(rule)
        if isSelected, asksForSource(rule) {
            throw Self.undecided("rule \(rule.priority) selects by the source that its route would give")
        }
        if isSelected, rule.hasUnknownSelector {
            throw Self.undecided("rule \(rule.priority) has a selector that this version does not know")
        }
        return isSelected != rule.isInverted
    }

    private mutating func matchesInterfaces(_ rule: Rule) -> Bool {
        if let name = rule.inputInterface, !matchesInput(name) { return false }
        if rule.isL3MDev, vrf == nil { return false }
        guard let name = rule.outputInterface else { return true }
        if let vrf, vrf.isNamed(name) {
            // Until Linux 5.17 the VRF replaces its port as the outgoing interface (`l3mdev_update_flow`).
            return snapshot.isKernel(before: 5, 18) ? query.inputInterface == 0 : ask(.vrfOutput)
        }
        return query.inputInterface == 0 && outputInterface != 0
            && snapshot.links[outputInterface]?.isNamed(name) == true
    }

    /// The packets of this host have the loopback interface as incoming interface.
    private mutating func matchesInput(_ name: String) -> Bool {
        guard query.inputInterface > 1 else {
            return name == "lo" || snapshot.links[1]?.isNamed(name) == true
        }
        // Until Linux 5.17 the VRF replaces its port as the incoming interface, too.
        if let vrf, vrf.isNamed(name) { return snapshot.isKernel(before: 5, 18) || ask(.vrfOutput) }
        return snapshot.links[query.inputInterface]?.isNamed(name) == true
            && !(vrf != nil && snapshot.isKernel(before: 5, 18))
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
            .first { $0.scope == .universe && $0.isPrimary }?.address
    }

    private mutating func matchesUser(_ rule: Rule) -> Bool {
        guard let users = rule.users else { return true }
        guard let user = query.user ?? snapshot.askingUser else { return ask(.user) }
        return users.contains(user)
    }

    /// `fib4_rule_suppress` and `fib6_rule_suppress`.
    private func suppresses(_ rule: Rule, _ hit: Hit) throws(ReachabilityError) -> Bool {
        if let length = rule.suppressedPrefixLength, hit.route.destination.length <= length { return true }
        guard let group = rule.suppressedGroup else { return false }
        if hit.route.destination.family == .v4 {
            // The first nexthop counts, even if another one is chosen.
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

extension NetworkSnapshot {
    /// Whether a rule can select the packet of a query, whatever the snapshot does not hold.
    package func canSelect(_ query: RouteQuery, by rule: Rule) -> Bool {
        guard rule.family == query.destination.family else { return false }
        var lookup = SnapshotLookup(self, query)
        lookup.bindToVRF()
        let matches = try? lookup.matches(rule)
        return matches ?? true || !lookup.consulted.isEmpty
    }
}
