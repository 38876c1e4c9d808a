// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Settings of interfaces, and what they do to routes without a carrier.

extension NetworkSnapshot {
    mutating func apply(_ change: FamilySettings) {
        let affected: [Link]
        switch change.place {
        case .newInterfaces: return
        case .all: affected = Array(links.values)
        case .interface(let index): affected = links[index].map { [$0] } ?? []
        }
        let before = affected.map { ignoresLinkdown($0, change.family) }
        if case .interface(let index) = change.place {
            links[index]?.settings.take(change)
        } else {
            settings.take(change)
            if change.ignoresLinkdown != nil { knownIgnoring.insert(change.family) }
        }
        for (link, ignored) in zip(affected, before) {
            guard let link = links[link.index], ignoresLinkdown(link, change.family) != ignored else {
                continue
            }
            ignoringChanged(of: link, change.family)
        }
    }

    /// A nexthop without a carrier is dead as long as routes without a carrier are ignored.
    ///
    /// One whose interface is down, or has no address of the family, is dead regardless of the setting.
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

    /// Whether `net.ipv4.conf.all.ignore_routes_with_linkdown` counts beside the setting of an interface.
    ///
    /// Until Linux 5.10 only the interface's own setting counts.
    var hasGlobalLinkdownSetting: Bool {
        !isKernel(before: 5, 11)
    }

    func ignoresLinkdown(_ link: Link, _ family: IPAddress.Family) -> Bool {
        switch family {
        case .v4:
            link.settings.ipv4IgnoresLinkdown ?? false
                || (hasGlobalLinkdownSetting && settings.ipv4IgnoresLinkdown ?? false)
        // The setting for all interfaces is written to each of them, and theirs counts.
        case .v6: link.settings.ipv6IgnoresLinkdown ?? settings.ipv6IgnoresLinkdown ?? false
        }
    }

    /// Infers settings that the dump does not hold from the state of nexthops.
    mutating func learnSettings() {
        if settings.ipv6Forwards == nil {
            // The setting for all interfaces is written to each of them.
            let known = Set(links.values.compactMap(\.settings.ipv6Forwards))
            if known.count == 1 { settings.ipv6Forwards = known.first }
        }
        for family in IPAddress.Family.allCases where !knownIgnoring.contains(family) {
            let shown = evidenceOfIgnoring(family)
            // One nexthop that is alive without a carrier says more than any number of dead ones.
            guard let ignores = shown.contains(false) ? false : shown.first else { continue }
            settings.take(FamilySettings(family: family, place: .all, ignoresLinkdown: ignores))
        }
    }

    /// A nexthop without a carrier is shown as dead exactly where such routes are ignored; unless it is dead anyway,
    /// because its interface is down or has no address of its family.
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
                if ignores == false, hasAddress, !link.hasCarrier(family) { shown.insert(true) }
            }
        }
        return shown
    }
}
