// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

// The changes of ip(8), with the kernel's checks.

extension HostState {
    /// Makes a change, with its side effects.
    ///
    /// - Throws: The kernel's refusal, or the refusal of an unpredictable change. A part of the change can then
    ///   have been made: a copy of the host before every change would cost as much as all of its routes.
    package mutating func make(_ change: HostChange) throws(KernelRefusal) {
        let ports = portsBySettings
        for action in change.actions { try make(action) }
        try check(ports)
    }

    /// A port of a bond or a team, and whether it can send.
    package typealias Port = (link: Link, master: Link, passesCarrier: Bool)

    /// The ports of bonds and teams.
    package var portsBySettings: [Port] {
        snapshot.links.values.compactMap { link in
            guard let master = link.master.flatMap({ snapshot.links[$0] }), master.hasPortsBySettings else {
                return nil
            }
            return (link, master, passesCarrier(link.index))
        }
    }

    /// Throws if a port of a bond or a team appeared or disappeared, because its effect on the master is unknown.
    package func check(_ ports: [Port]) throws(KernelRefusal) {
        for port in ports {
            guard port.passesCarrier != passesCarrier(port.link.index), interfaces[port.master.index] != nil
            else {
                continue
            }
            throw .unknown(
                "\(port.link.name) is a port of \(port.master.name), and what a \(port.master.kind) then does depends "
                    + "on its mode and on how it watches its ports, which no table holds: try what it comes to, such "
                    + "as 'carrier \(port.master.name) off'")
        }
    }

    /// Makes a part of a change, with its side effects.
    ///
    /// - Throws: The kernel's refusal, or the refusal of an unpredictable change.
    package mutating func make(_ action: HostChange.Action) throws(KernelRefusal) {
        switch action {
        case .setUp(let name):
            let index = try index(of: name)
            if interfaces[index]?.isUp == false { try checkedSetUp(index) }
        case .setDown(let name):
            let index = try index(of: name)
            guard interfaces[index]?.isUp == true, let link = snapshot.links[index] else { return }
            try checkIsNoVRF(link)
            setDown(index)
        case .delete(let name): try delete(name)
        case .setMaster(let name, let master): try setMaster(name, master)
        case .setCarrier(let name, let isPresent): setCarrier(try index(of: name), isPresent)
        case .setMTU(let name, let size): try setMTU(try index(of: name), size)
        case .find(let name): _ = try index(of: name)
        case .address(.delete, let request): try remove(request)
        case .address(let verb, let request): try set(request, verb)
        case .flushAddresses(let request): try flush(request)
        case .flushRoutes(let request): try flush(request)
        case .flushRules(let family): flushRules(family)
        case .setting(let request): try set(request)
        case .route(.delete, let request): try removeRoute(request)
        case .route(let verb, let request): try setRoute(request, verb)
        case .rule(let request, true): try add(request)
        case .rule(let request, false): try remove(request)
        }
    }

    /// The index of the interface with a name.
    func index(of name: String) throws(KernelRefusal) -> UInt32 {
        if let link = snapshot.links.values.first(where: { $0.isNamed(name) }) { return link.index }
        let known = links.map(\.name).joined(separator: ", ")
        throw KernelRefusal(ENODEV, "\(Link.absence(ofName: name)), only \(known)")
    }

    // MARK: Interfaces

    private mutating func checkedSetUp(_ index: UInt32) throws(KernelRefusal) {
        guard let link = snapshot.links[index] else { return }
        if link.kind == "vlan", let lower = link.lowerHere, interfaces[lower]?.isUp == false {
            throw KernelRefusal(ENETDOWN, "the interface below \(link.name) is down")
        }
        try require(
            !link.hasPortsBySettings,
            "whether \(link.name) has a carrier once it is up depends on how a \(link.kind) watches its ports, "
                + "which no table holds: set it up, and record the host then")
        try checkIsNoVRF(link)
        setUp(index)
    }

    private func checkIsNoVRF(_ link: Link) throws(KernelRefusal) {
        guard link.isVRF else { return }
        throw .unknown(
            "what a VRF that goes up or down does to its ports is not predicted: try the change on each port")
    }

    private mutating func delete(_ name: String) throws(KernelRefusal) {
        let index = try index(of: name)
        guard let link = snapshot.links[index], !link.kind.isEmpty else {
            throw KernelRefusal(EOPNOTSUPP, "\(name) is a physical or loopback interface, which stays")
        }
        try require(
            !link.isVRF,
            "what becomes of the ports of a VRF and of its table is not predicted: remove its routes one by one, "
                + "such as 'route del default table TABLE'")
        try require(
            !link.hasPortsBySettings || snapshot.links.ports(of: index).isEmpty,
            "a \(link.kind) that is removed sets its ports down, and what else becomes of them is not predicted: "
                + "try 'link set \(name) down'")
        removeInterface(index)
    }

    private mutating func setMaster(_ name: String, _ master: String?) throws(KernelRefusal) {
        let index = try index(of: name)
        let masterIndex: UInt32? = if let master { try self.index(of: master) } else { nil }
        guard let link = snapshot.links[index], link.master != masterIndex else { return }
        for other in [link.master, masterIndex].compactMap({ $0.flatMap { snapshot.links[$0] } })
        where other.kind != "bridge" {
            try require(
                !other.isVRF,
                "the kernel takes an interface that enters or leaves a VRF down and up, and its routes to another "
                    + "table, which is not predicted: record the host before and after, and compare with diff"
            )
            try require(
                !other.hasPortsBySettings,
                "what a \(other.kind) does with its ports depends on its mode and on how it watches them, which no "
                    + "table holds: record the host before and after, and compare with diff")
            throw KernelRefusal(EOPNOTSUPP, "\(other.name) has no ports")
        }
        let isBridge = masterIndex.flatMap({ snapshot.links[$0]?.kind }) == "bridge"
        try require(!isBridge || link.kind != "bridge", ELOOP, "a bridge cannot be a port of a bridge")
        try require(!isBridge || !link.flags.contains(.loopback), EINVAL, "\(name) is the loopback interface")
        if isBridge,
            snapshot.links.uppers(of: index).contains(where: {
                ["macvlan", "ipvlan"].contains(snapshot.links[$0]?.kind)
            })
        {
            throw KernelRefusal(EBUSY, "\(name) has a macvlan or an ipvlan on it")
        }
        setMaster(index, masterIndex)
    }

    /// Sets an MTU as `netif_set_mtu_ext` does.
    ///
    /// Interfaces that are stacked on this one get at most this MTU.
    private mutating func setMTU(_ index: UInt32, _ size: Int32) throws(KernelRefusal) {
        guard let link = snapshot.links[index] else { return }
        let size = Int64(size)
        guard link.sizes.current.map(Int64.init) != size else { return }
        guard size >= Int64(link.sizes.smallest ?? 0) else {
            throw KernelRefusal(EINVAL, "the mtu of \(link.name) is at least \(link.sizes.smallest ?? 0)")
        }
        if let largest = link.sizes.largest, size > Int64(largest) {
            throw KernelRefusal(EINVAL, "the mtu of \(link.name) is at most \(largest)")
        }
        if let lower = link.lower, link.hasSizeOfLower {
            guard !link.lowerIsForeign, let largest = snapshot.links[lower]?.sizes.current else {
                throw .unknown("the mtu of the interface below \(link.name) is not recorded")
            }
            try require(
                size <= Int64(largest), link.kind == "vlan" ? ERANGE : EINVAL,
                "the mtu of \(link.name) is at most that of the interface below, which is \(largest)")
        }
        if link.ends?.link != nil, let current = link.sizes.current, size > Int64(current) {
            throw .unknown(
                "how large the mtu of a tunnel that is bound to an interface can be depends on the length of its "
                    + "headers, which is not recorded")
        }
        guard size >= 1_280, link.sizes.current ?? 1_280 >= 1_280 else {
            throw .unknown("an mtu below 1280 takes IPv6 off the interface, which is not predicted")
        }
        var open = [index]
        while let index = open.popLast(), var link = snapshot.links[index] {
            link.sizes.current = UInt32(size)
            routing.snapshot.setLink(index, link)
            open += snapshot.links.uppers(of: index).filter {
                snapshot.links[$0]?.hasSizeOfLower == true && snapshot.links[$0]?.sizes.current ?? 0 > size
            }
        }
    }

    // MARK: Addresses

    private mutating func set(
        _ request: HostChange.AddressRequest,
        _ verb: HostChange.Verb
    ) throws(KernelRefusal) {
        let index = try index(of: request.device)
        let address = request.address
        let length = request.length ?? address.family.bitWidth
        let isLinkLocal = address.family == .v6 && address.isLinkLocal
        let scope: RouteScope = address.isLoopback ? .host : isLinkLocal ? .link : .universe
        var own = InterfaceAddress(
            interfaceIndex: index, address: address, peer: request.peer, prefixLength: UInt8(length),
            // The kernel decides the scope of an IPv6 address.
            scope: address.family == .v4 ? request.scope ?? scope : scope,
            flags: request.skipsDetection && address.family == .v6 ? [.permanent, .noDetection] : .permanent)
        if request.hasNoPrefixRoute { own.flags.insert(.noPrefixRoute) }
        own.broadcast = request.broadcast
        if address.family == .v6 {
            try require(!address.isMulticast, EINVAL, "\(address) is the address of a group")
            let isLoopback = snapshot.links[index]?.flags.contains(.loopback) == true
            guard !address.isUnspecified, !address.isLoopback || isLoopback else {
                throw KernelRefusal(EADDRNOTAVAIL, "\(address) is not an address of \(request.device)")
            }
            try checkHasIPv6(index)
        }
        let known = snapshot.addresses(ofInterface: index, family: address.family)
        guard let rival = known.first(where: { $0.isRival(of: own) }) else {
            try require(
                subnetMates(of: own).allSatisfy { $0.scope == own.scope }, EINVAL,
                "an address of the same subnet has another scope")
            return insert(own)
        }
        try require(verb != .add, EEXIST, "\(request.device) has the address \(address) already")
        replace(rival, hasNoPrefixRoute: request.hasNoPrefixRoute)
    }

    /// Sets an existing address again: `inet6_addr_modify`, and `inet_rtm_newaddr`, which does not change IPv4
    /// routes.
    private mutating func replace(_ own: InterfaceAddress, hasNoPrefixRoute: Bool) {
        guard own.address.family == .v6 else { return }
        let index = own.interfaceIndex
        let hadRoute = own.flags.contains(.permanent) && !own.flags.contains(.noPrefixRoute)
        var new = own
        new.flags.insert(.permanent)
        if hasNoPrefixRoute { new.flags.insert(.noPrefixRoute) } else { new.flags.remove(.noPrefixRoute) }
        if hadRoute, hasNoPrefixRoute, let route = prefixRoute(of: own) {
            let others = snapshot.addresses(ofInterface: index, family: .v6).filter { !$0.isSame(as: own) }
            if !others.contains(where: { keptRoute(of: $0) == route }) { remove(route) }
        }
        if new != own { apply(.address(new), .address(isLoss: false)) }
        guard interfaces[index]?.isUp == true, let route = prefixRoute(of: new) else { return }
        // `modify_prefix_route` takes the interface's first route to the subnet for the kernel's, if it has no gateway.
        let present = snapshot.routes(to: route.destination, table: route.table).filter {
            $0.source == nil && $0.nexthopID == 0 && $0.nexthops.first?.interfaceIndex == index
                && $0.nexthops.first?.gateway == nil
        }.min { $0.priority < $1.priority }
        if hadRoute, let present {
            // The metric of a route of the kernel's is that of the address, which is not recorded.
            if present.priority == route.priority || present.origin == Route.kernelOrigin { return }
            remove(present)
        }
        insert(route)
    }

    private mutating func remove(_ request: HostChange.AddressRequest) throws(KernelRefusal) {
        let index = try index(of: request.device)
        let own = snapshot.addresses(ofInterface: index, family: request.address.family).first { own in
            own.address == request.address && (request.length.map { $0 == own.prefixLength } ?? true)
                && (request.peer == nil || request.peer == own.peer)
        }
        guard let own else {
            throw KernelRefusal(
                EADDRNOTAVAIL, "\(request.device) does not have the address \(request.address)")
        }
        try checkedRemove(own)
    }

    // MARK: Rules

    private mutating func add(_ request: HostChange.RuleRequest) throws(KernelRefusal) {
        var rule = request.rule
        for ports in [rule.sourcePorts, rule.destinationPorts].compactMap(\.self)
        where ports.lowerBound == 0 || ports.upperBound == .max {
            throw KernelRefusal(EINVAL, "ports of a rule are 1 to 65534")
        }
        try require(rule.tos & 3 == 0, EINVAL, "the lower two bits of a tos are those of ECN")
        try require(
            rule.family == .v6 || rule.tos & 0xe0 == 0, EINVAL, "an IPv4 rule compares no tos above 0x1c")
        try require(rule.users?.upperBound != .max, EINVAL, "users of a rule are 0 to \(UInt32.max - 1)")
        if rule.action == .lookup(table: 0), !rule.isL3MDev {
            guard rule.family == .v4 else { throw KernelRefusal(EINVAL, "an IPv6 rule needs a table") }
            // `fib_empty_table`
            rule.action = .lookup(table: routing.snapshot.makeEmptyTable())
        }
        let rules = snapshot.rules.filter { $0.family == rule.family }
        if !request.hasPriority {
            // `fib_default_rule_pref`: the new rule comes before the second rule.
            rule.priority = rules.count > 1 && rules[1].priority > 0 ? rules[1].priority - 1 : 0
        }
        if case .goto(let target) = rule.action, target <= rule.priority {
            throw KernelRefusal(EINVAL, "a rule goes to later rules alone")
        }
        let isKnown = rules.contains { known in
            var known = known
            // `rule_exists` does not compare the target of a goto, the inversion, or addresses and a type of service
            // that the new rule does not name.
            if case .goto = known.action, case .goto = rule.action { known.action = rule.action }
            known.isInverted = rule.isInverted
            if rule.source == nil { known.source = nil }
            if rule.destination == nil { known.destination = nil }
            if rule.tos == 0 { known.tos = 0 }
            return known == rule
        }
        guard !isKnown || rule.action == request.rule.action else {
            throw .unknown("whether a table without routes is there, which a rule leads to, is not recorded")
        }
        // The kernel's own rules have another protocol than those of ip(8).
        try require(
            !isKnown || !request.hasOrigin && !rule.isOfKernel,
            "there is an equal rule, and its protocol is not recorded")
        guard !isKnown else { throw KernelRefusal(EEXIST, "there is an equal rule") }
        apply(.rule(rule), .rule)
    }

    private mutating func remove(_ request: HostChange.RuleRequest) throws(KernelRefusal) {
        guard let rule = snapshot.rules.first(where: request.matches) else {
            throw KernelRefusal(ENOENT, "there is no such rule")
        }
        apply(.removedRule(rule), .rule)
    }
}

extension Rule {
    /// Whether the kernel adds such a rule by itself, the last one with the first VRF.
    fileprivate var isOfKernel: Bool { Rule.standard.contains(self) || isL3MDev && priority == 1_000 }
}

extension HostChange.RuleRequest {
    /// Whether a rule has all given properties: `rule_find`.
    fileprivate func matches(_ other: Rule) -> Bool {
        func isSame<Value: Equatable>(_ path: KeyPath<Rule, Value?>) -> Bool {
            rule[keyPath: path] == nil || rule[keyPath: path] == other[keyPath: path]
        }
        return rule.family == other.family && (!hasPriority || rule.priority == other.priority)
            && (!hasAction || rule.action == .lookup(table: 0) || rule.action == other.action)
            && (!rule.isL3MDev || other.isL3MDev) && (rule.tos == 0 || rule.tos == other.tos)
            && isSame(\.source) && isSame(\.destination) && isSame(\.mark) && isSame(\.inputInterface)
            && isSame(\.outputInterface) && isSame(\.users) && isSame(\.ipProtocol) && isSame(\.sourcePorts)
            && (rule.sourcePorts == nil || rule.sourcePortMask == other.sourcePortMask)
            && (rule.destinationPorts == nil || rule.destinationPortMask == other.destinationPortMask)
            && isSame(\.destinationPorts) && isSame(\.suppressedPrefixLength)
            && isSame(\.suppressedGroup)
    }
}

extension InterfaceAddress {
    /// Whether an interface cannot have both addresses: `__inet_insert_ifa`, `ipv6_add_addr_hash`.
    fileprivate func isRival(of other: InterfaceAddress) -> Bool {
        address == other.address
            && (address.family == .v6 || (prefixLength == other.prefixLength && subnet == other.subnet))
    }
}

extension Link {
    /// Whether the MTU is at most that of the lower interface.
    fileprivate var hasSizeOfLower: Bool { ["vlan", "macvlan", "macvtap"].contains(kind) }

    /// Whether the carrier depends on the ports by settings that no kernel message here contains.
    fileprivate var hasPortsBySettings: Bool { ["bond", "team"].contains(kind) }
}
