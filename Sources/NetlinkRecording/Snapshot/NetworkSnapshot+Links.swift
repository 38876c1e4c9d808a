// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The effects of interfaces' states on routes.

extension NetworkSnapshot {
    mutating func apply(_ report: LinkReport) {
        let index = report.link.index
        let before = links[index]
        guard report.isWhole || before != nil else { return }
        var after = report.merged(into: before)
        after.portState = nil
        links[index] = after
        guard let before else { return }
        if links.vrf(of: before)?.index != links.vrf(of: after)?.index {
            // When an interface enters or leaves a VRF, the kernel sets it down and up again.
            markDead(family: .v4, interface: index, force: false)
        }
        switch (before.flags.contains(.up), after.flags.contains(.up)) {
        case (true, false): linkWentDown(index)
        case (false, true): revive(after, families: IPAddress.Family.allCases)
        case (true, true): carrierChanged(from: before, to: after)
        default: break
        }
    }

    mutating func removeLink(_ index: UInt32) {
        guard links[index] != nil else { return }
        links[index] = nil
        for family in IPAddress.Family.allCases {
            for address in addressBook.addresses(ofInterface: index, family) { removeAddress(address) }
        }
        neighbours = neighbours?.filter { $0.key.interfaceIndex != index }
        removeNexthops(ofInterface: index)
        // An IPv4 route is removed as a whole with any of its interfaces. An IPv6 route only loses its nexthops.
        drop(pool.index[.through(index, .v4)])
        markDead(family: .v6, interface: index, force: true)
        pool.update(pool.index[.through(index, .v6)]) { $0.removeNexthops(through: index) }
    }

    private mutating func linkWentDown(_ index: UInt32) {
        removeNexthops(ofInterface: index)
        markDead(family: .v4, interface: index, force: false)
        markDead(family: .v6, interface: index, force: true)
    }

    private mutating func removeNexthops(ofInterface index: UInt32) {
        let doomed = nexthopObjects.values.filter { nexthop in
            if case .single(let nexthop) = nexthop.kind { nexthop.interfaceIndex == index } else { false }
        }
        for id in doomed.map(\.id).sorted() { removeNexthop(id) }
    }

    // MARK: Nexthops

    /// Marks the nexthops through an interface as dead, and removes routes without another nexthop.
    ///
    /// With `force`, this includes routes of host scope. Otherwise, routes to local addresses stay. A route through a
    /// nexthop object is removed together with the object.
    mutating func markDead(family: IPAddress.Family, interface index: UInt32, force: Bool) {
        func isAffected(_ route: Route) -> Bool {
            (force || route.scope != .host) && route.nexthopID == 0
        }
        pool.update(pool.index[.through(index, family)]) { route in
            guard isAffected(route) else { return }
            route.updateNexthops(index) { $0.formUnion([.dead, .linkDown]) }
        }
        // Includes routes that were dead before because of the carrier.
        drop(pool.index[.through(index, family)].filter { pool[$0].isDead && isAffected(pool[$0]) })
    }

    /// `fib_sync_up`: nexthops through an interface that works again are no longer dead.
    ///
    /// IPv6 nexthops stay dead until the interface also has a carrier (`addrconf_link_ready`).
    mutating func revive(_ link: Link, families: [IPAddress.Family]) {
        for family in families where family == .v4 || link.hasCarrierForRoutes(of: .v6) {
            guard link.hasCarrierForRoutes(of: family) || !ignoresLinkdown(link, family) else { continue }
            let gone: NexthopFlags = link.hasCarrierForRoutes(of: family) ? [.dead, .linkDown] : .dead
            let affected = pool.index[
                gone == .dead ? .dead(link.index, family) : .marked(link.index, family)]
            pool.update(affected) { route in
                route.updateNexthops(link.index) { $0.subtract(gone) }
            }
        }
    }

    private mutating func carrierChanged(from before: Link, to after: Link) {
        if before.hasCarrierForRoutes(of: .v4), !after.hasCarrierForRoutes(of: .v4) {
            removeNexthops(ofInterface: after.index)
        }
        for family in IPAddress.Family.allCases
        where before.hasCarrierForRoutes(of: family) != after.hasCarrierForRoutes(of: family) {
            setCarrier(of: after, family)
        }
    }

    private mutating func setCarrier(of link: Link, _ family: IPAddress.Family) {
        let down: NexthopFlags = ignoresLinkdown(link, family) ? [.dead, .linkDown] : .linkDown
        pool.update(pool.index[.through(link.index, family)]) { route in
            guard !route.isOwnAddress else { return }
            route.updateNexthops(link.index) { flags in
                if !link.hasCarrierForRoutes(of: family) {
                    flags.formUnion(down)
                } else {
                    flags.subtract(family == .v6 ? [.dead, .linkDown] : down)
                }
            }
        }
    }

    /// Removes all routes with these attributes.
    mutating func drop(_ doomed: Set<UInt32>) {
        var removed: [UInt32] = []
        // Attributes with several destinations are searched in all tables.
        var scattered: Set<UInt32> = []
        var placed: [PrefixInTable: Set<UInt32>] = [:]
        for attributes in doomed {
            if let destination = pool.destination(attributes) {
                let place = PrefixInTable(prefix: destination, table: pool[attributes].table)
                placed[place, default: []].insert(attributes)
            } else {
                scattered.insert(attributes)
            }
        }
        for (place, attributes) in placed {
            removed += routeTables.remove(attributes, place.prefix, table: place.table)
        }
        if !scattered.isEmpty { removed += routeTables.remove(scattered) }
        for attributes in removed { pool.release(attributes) }
    }

    /// The VRF that an interface is, or is a port of.
    func vrf(ofInterface index: UInt32) -> Link? {
        links[index].flatMap(links.vrf)
    }
}

extension LinkTable {
    /// The VRF that an interface is, or is a port of.
    fileprivate func vrf(of link: Link) -> Link? {
        link.isVRF ? link : link.master.flatMap { self[$0] }.flatMap { $0.isVRF ? $0 : nil }
    }
}

extension Link {
    /// Whether the kernel counts routes through it as having a carrier: `fib_netdev_event` looks for any of
    /// two bits, `addrconf_link_ready` for an operational interface, which a dormant one is not.
    func hasCarrierForRoutes(of family: IPAddress.Family) -> Bool {
        family == .v4 ? !flags.isDisjoint(with: [.running, .lowerUp]) : flags.contains(.running)
    }
}

extension Route {
    /// Whether all nexthops are dead.
    ///
    /// The kernel has removed such an IPv4 route.
    fileprivate var isDead: Bool {
        !nexthops.isEmpty && nexthops.allSatisfy { $0.flags.contains(.dead) }
    }

    /// Whether the route leads to an address of this host, so that the carrier has no effect.
    ///
    /// Of IPv6 anycast routes, only those of the kernel have `RTF_ANYCAST`.
    var isOwnAddress: Bool {
        guard destination.family == .v6 else { return scope == .host }
        return type == .local || type == .anycast && origin == Route.kernelOrigin
    }

    /// Changes the flags of the nexthops through an interface, and of the route if it has only one nexthop.
    mutating func updateNexthops(_ index: UInt32, _ change: (inout NexthopFlags) -> Void) {
        for place in nexthops.indices where nexthops[place].interfaceIndex == index {
            change(&nexthops[place].flags)
        }
        copyFlagsOfOnlyNexthop()
    }

    /// Removes the nexthops through a removed interface, unless they belong to a nexthop object.
    fileprivate mutating func removeNexthops(through index: UInt32) {
        guard nexthopID == 0 else { return }
        nexthops.removeAll { $0.interfaceIndex == index }
        copyFlagsOfOnlyNexthop()
    }

    private mutating func copyFlagsOfOnlyNexthop() {
        if nexthops.count == 1 { flags = flags & ~0xff | UInt32(nexthops[0].flags.rawValue) }
    }
}

// MARK: - Settings

// Settings of interfaces, and their effects on routes without a carrier.

extension NetworkSnapshot {
    mutating func apply(_ change: SettingsReport) {
        let affected: [Link]
        switch change.place {
        case .newInterfaces: return
        case .all: affected = Array(links.values)
        case .interface(let index): affected = links[index].map { [$0] } ?? []
        }
        let families = IPAddress.Family.allCases.filter { change.settings.ignoresLinkdown($0) != nil }
        let before = families.map { family in affected.map { ignoresLinkdown($0, family) } }
        if case .interface(let index) = change.place {
            links[index]?.settings.take(change.settings)
        } else {
            settings.take(change.settings)
            knownIgnoring.formUnion(families)
        }
        for (family, before) in zip(families, before) {
            for (link, ignored) in zip(affected, before) {
                guard let link = links[link.index], ignoresLinkdown(link, family) != ignored else { continue }
                ignoringChanged(of: link, family)
            }
        }
    }

    /// Updates the nexthops without a carrier: they are dead while routes without a carrier are ignored.
    ///
    /// A nexthop whose interface is down, or has no address of the family, is dead regardless of the setting.
    private mutating func ignoringChanged(of link: Link, _ family: IPAddress.Family) {
        guard link.flags.contains(.up), addressBook.hasAny(family, ofInterface: link.index) else { return }
        let isDead = ignoresLinkdown(link, family)
        let affected = pool.index[.marked(link.index, family)]
        pool.update(affected) { route in
            route.updateNexthops(link.index) { flags in
                guard flags.contains(.linkDown) else { return }
                if isDead { flags.insert(.dead) } else { flags.remove(.dead) }
            }
        }
    }

    /// Whether `net.ipv4.conf.all.ignore_routes_with_linkdown` applies in addition to the setting of an interface.
    ///
    /// Until Linux 5.10, only the interface's own setting applies.
    var hasGlobalLinkdownSetting: Bool {
        !isKernel(before: 5, 11)
    }

    func ignoresLinkdown(_ link: Link, _ family: IPAddress.Family) -> Bool {
        switch family {
        case .v4:
            link.settings.ipv4IgnoresLinkdown ?? false
                || (hasGlobalLinkdownSetting && settings.ipv4IgnoresLinkdown ?? false)
        // The setting for all interfaces is written to each interface, so the interface's setting applies.
        case .v6: link.settings.ipv6IgnoresLinkdown ?? settings.ipv6IgnoresLinkdown ?? false
        }
    }

    /// Infers settings that the dump does not contain from the state of nexthops.
    mutating func learnSettings() {
        if settings.ipv6Forwards == nil {
            // The setting for all interfaces is written to each interface.
            let known = Set(links.values.compactMap(\.settings.ipv6Forwards))
            if known.count == 1 { settings.ipv6Forwards = known.first }
        }
        for family in IPAddress.Family.allCases where !knownIgnoring.contains(family) {
            let shown = evidenceOfIgnoring(family)
            // One usable nexthop without a carrier is stronger evidence than any number of dead ones.
            guard let ignores = shown.contains(false) ? false : shown.first else { continue }
            switch family {
            case .v4: settings.ipv4IgnoresLinkdown = ignores
            case .v6: settings.ipv6IgnoresLinkdown = ignores
            }
        }
    }

    /// Collects evidence from nexthops without a carrier: such a nexthop is dead if such routes are ignored.
    ///
    /// Nexthops that are dead for another reason do not count: their interface is down or has no address of the
    /// family.
    private func evidenceOfIgnoring(_ family: IPAddress.Family) -> Set<Bool> {
        var shown: Set<Bool> = []
        for number in pool.inUse where pool[number].destination.family == family {
            for nexthop in pool[number].nexthops where nexthop.flags.contains(.linkDown) {
                guard let link = links[nexthop.interfaceIndex], link.flags.contains(.up) else { continue }
                guard nexthop.flags.contains(.dead) else {
                    shown.insert(false)
                    continue
                }
                let ignores = link.settings.ignoresLinkdown(family)
                let hasAddress = addressBook.hasAny(family, ofInterface: link.index)
                if ignores == false, hasAddress, !link.hasCarrierForRoutes(of: family) { shown.insert(true) }
            }
        }
        return shown
    }
}
