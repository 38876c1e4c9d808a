// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// Policy rules: `fib_rules_lookup` and `fib_rule_match` in the kernel.

extension SnapshotLookup {
    /// Walks the rules of the query's family until one ends the search.
    mutating func walkRules() throws(ReachabilityError) -> Finding? {
        bindToVRF()
        var suppressed: Hit?
        let packet = rulePacket
        let finding = try snapshot.rules(query.destination.family).walk(
            vrfTable: vrf?.vrfTable,
            selects: { (rule) throws(ReachabilityError) in try matches(rule, packet) },
            visit: { (rule, step) throws(ReachabilityError) -> Finding? in
                switch step {
                case .goto, .undecided: return nil
                case .refusal(let rejection): return .rejected(rejection)
                case .table(let number):
                    let finding = try find(inTable: number)
                    if snapshot.routeTables.index(ofTable: number, .v6) != nil { suppressed = nil }
                    guard case .hit(let hit)? = finding, try suppresses(rule, hit) else { return finding }
                    suppressed = hit
                    return nil
                }
            })
        guard finding == nil, let suppressed, query.destination.family == .v6, usesSuppressedRoutes() else {
            return finding
        }
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

    private mutating func matches(_ rule: Rule, _ packet: RulePacket) throws(ReachabilityError) -> Bool {
        guard let open = rule.undecidedSelectors(for: packet),
            !open.contains(.vrf) || ask(.vrfOutput), !open.contains(.user) || ask(.user)
        else { return rule.isInverted }
        if open.contains(.source) {
            throw Self.undecided("rule \(rule.priority) selects by the source that its route would give")
        }
        if open.contains(.unknown) {
            throw Self.undecided("rule \(rule.priority) has a selector that this version does not know")
        }
        return !rule.isInverted
    }

    /// The packet as the rules see it.
    fileprivate var rulePacket: RulePacket {
        var packet = RulePacket(query)
        if packet.source == .anyV4, let source = snapshot.groupSource(for: query) { packet.source = source }
        let isInput = query.inputInterface != 0 && query.destination.family == .v6
        packet.user = isInput ? snapshot.inputUser : query.user ?? snapshot.askingUser
        packet.inputInterface = snapshot.links[max(query.inputInterface, 1)]
        if outputInterface != 0 { packet.outputInterface = snapshot.links[outputInterface] }
        (packet.vrf, packet.vrfReplacesPort) = (vrf, snapshot.isKernel(before: 5, 18))
        return packet
    }

    private func suppresses(_ rule: Rule, _ hit: Hit) throws(ReachabilityError) -> Bool {
        let length = hit.route.destination.length
        guard rule.suppressedGroup != nil, !rule.suppresses(length: length, group: nil) else {
            return rule.suppresses(length: length, group: nil)
        }
        let groups = hit.route.nexthops.map { snapshot.links[$0.interfaceIndex]?.group }
        guard hit.route.destination.family == .v4 || Set(groups).count < 2 else {
            throw Self.undecided(
                "rule \(rule.priority) suppresses one nexthop of a route and the kernel chooses by hash")
        }
        // The first nexthop counts in IPv4, even if another one is chosen.
        return rule.suppresses(length: length, group: groups.first ?? nil)
    }
}

extension NetworkSnapshot {
    /// The packet of a query as policy rules see it.
    package func rulePacket(_ query: RouteQuery) -> RulePacket {
        var lookup = SnapshotLookup(self, query)
        lookup.bindToVRF()
        return lookup.rulePacket
    }
}
