// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Which differences follow from others.
///
/// The snapshot's own rules are tried: what vanishes from the older state when a change is applied to it follows from
/// that change. What the kernel notifies by itself is added here: its own routes and addresses, and interfaces above
/// others.
struct DifferenceLinks {
    /// How many differences are looked at, and parts of a state copied, at most: each change is tried.
    private static let workLimit = 40_000_000

    /// Whether the differences are few enough to find out what follows from what.
    let isKnown: Bool
    /// The indices of the differences that follow from no other one.
    private(set) var roots: Set<Int> = []

    private let differences: [NetworkDifference]
    private let old: NetworkSnapshot
    /// The interfaces of each difference.
    private let interfaces: [Set<UInt32>]
    /// For each difference, those that follow from it.
    private var effects: [Set<Int>]
    /// For each difference, its causes among the others.
    private var causes: [Set<Int>]

    init(_ differences: [NetworkDifference], old: NetworkSnapshot, new: NetworkSnapshot) {
        (self.differences, self.old) = (differences, old)
        interfaces = differences.map(\.interfaces)
        effects = Array(repeating: [], count: differences.count)
        causes = effects
        let tried = differences.count { $0.route == nil }
        let size = differences.count + old.links.keys.count + new.links.keys.count
        isKnown = tried * size <= Self.workLimit
        guard isKnown else { return }
        for index in differences.indices { findEffects(of: index) }
        for (index, others) in effects.enumerated() {
            for other in others { causes[other].insert(index) }
        }
        findRoots()
    }

    // MARK: Closures

    /// The indices of all that some differences follow from, these among them.
    func causes(of indices: [Int]) -> Set<Int> {
        var found: Set<Int> = []
        Self.reach(indices, &found) { causes[$0] }
        return found
    }

    private mutating func findRoots() {
        roots = Set(differences.indices.filter { causes[$0].isEmpty })
        var reached: Set<Int> = []
        Self.reach(Array(roots), &reached) { effects[$0] }
        // Differences that follow from each other: the first of them stands for all.
        for index in differences.indices where !reached.contains(index) {
            roots.insert(index)
            Self.reach([index], &reached) { effects[$0] }
        }
    }

    /// Adds some indices, and all that lie behind them and were not reached yet.
    private static func reach(_ indices: [Int], _ found: inout Set<Int>, _ edges: (Int) -> Set<Int>) {
        var open = indices
        while let index = open.popLast() {
            if found.insert(index).inserted { open += edges(index) }
        }
    }

    // MARK: Effects

    private mutating func findEffects(of index: Int) {
        switch differences[index] {
        case .link(let change):
            guard let link = change.latest else { return }
            let masters = Set([change.old?.master, change.new?.master].compactMap(\.self))
            let affected = differences.indices.filter { other in
                if case .link(let link) = differences[other], let number = link.latest?.index,
                    masters.contains(number)
                {
                    return true
                }
                return interfaces[other].contains(link.index)
            }
            tryOut(index, affected)
            for other in affected where other != index && follows(differences[other], change) {
                effects[index].insert(other)
            }
        case .address(let change):
            guard let address = change.latest else { return }
            tryOut(index, affected(by: address))
            for other in differences.indices where follows(differences[other], address) {
                effects[index].insert(other)
            }
        case .nexthop(let change):
            guard let id = change.latest?.id else { return }
            let groups = old.groups(ofNexthop: id)
            let objects = groups.union([id])
            let affected = routes { $0.nexthopID != 0 && objects.contains($0.nexthopID) }
            tryOut(index, affected)
        case .settings(let change):
            tryOut(index, routes { _ in true }, change.new?.changes)
        case .route, .rule, .neighbour: break
        }
    }

    /// The indices of differences of routes that were or are as described.
    private func routes(_ isMeant: (Route) -> Bool) -> [Int] {
        differences.indices.filter { index in
            guard let change = differences[index].route else { return false }
            return change.old.map(isMeant) ?? false || change.new.map(isMeant) ?? false
        }
    }

    /// What an IPv4 address can take with it: what prefers it as the source, and everything on its interface where no
    /// other address is left there.
    private func affected(by address: InterfaceAddress) -> [Int] {
        guard address.address.family == .v4 else { return [] }
        let preferring = routes { $0.preferredSource == address.address }
        let others = old.addresses(ofInterface: address.interfaceIndex, family: .v4)
        guard others.allSatisfy({ $0 == address }) else { return preferring }
        return preferring + interfaces.indices.filter { interfaces[$0].contains(address.interfaceIndex) }
    }

    /// Applies a difference to the older state, and notes which of the affected ones it makes.
    private mutating func tryOut(_ index: Int, _ affected: [Int], _ settings: [NetworkChange]? = nil) {
        // What is not there before a change does not go with it.
        let present = affected.filter { $0 != index && differences[$0].kind != .added }
        guard !present.isEmpty else { return }
        var state = old.holding(present.compactMap { differences[$0].route?.old })
        for change in settings ?? [differences[index].change].compactMap(\.self) { state.apply(change) }
        effects[index].formUnion(present.filter { differences[$0].isDone(in: state) })
    }

    // MARK: What the kernel does by itself

    /// Whether an address, a route or another interface changes because an interface does.
    private func follows(_ difference: NetworkDifference, _ link: NetworkDifference.Change<Link>) -> Bool {
        switch difference {
        case .link(let change): return change.follows(link)
        case .address(let change):
            guard let address = change.latest, address.address.family == .v6 else { return false }
            // IPv6 addresses go when an interface goes down; the others that come are announced by a router.
            return change.new == nil || address.address.isLinkLocal || !address.flags.contains(.permanent)
        case .route(let change):
            return change.latest?.isMadeByKernel ?? false
        case .neighbour: return true
        case .nexthop, .rule, .settings: return false
        }
    }

    /// Whether a route is one that the kernel makes for an address.
    private func follows(_ difference: NetworkDifference, _ address: InterfaceAddress) -> Bool {
        guard let route = difference.route?.latest, route.isMadeByKernel else { return false }
        return route.preferredSource == address.address
            || route.destination.contains(address.address)
                && difference.interfaces.contains(address.interfaceIndex)
    }
}

extension NetworkDifference {
    /// Whether a state, which lacked the difference, has it.
    fileprivate func isDone(in state: NetworkSnapshot) -> Bool {
        switch self {
        case .address(let change):
            guard change.new == nil, let old = change.old else { return change.new == nil }
            return !state.addresses(ofInterface: old.interfaceIndex, family: old.address.family).contains(old)
        case .nexthop(let change):
            return change.old.map { state.nexthopObjects[$0.id]?.identity == change.new?.identity } ?? false
        case .neighbour(let change):
            return change.old.map { state.neighbours?[$0.key] == change.new } ?? false
        case .route(let change):
            return change.old.map { $0.counted(in: state) != $0.counted } ?? false
                && change.latest?.counted(in: state) == change.new?.counted
        case .link, .rule, .settings: return false
        }
    }
}

extension NetworkSnapshot {
    /// The same network with these routes and no others: a change of it costs no copy of whole tables.
    fileprivate func holding(_ routes: [Route]) -> NetworkSnapshot {
        var copy = self
        copy.removeRoutes()
        for (place, routes) in Dictionary(grouping: routes, by: PrefixInTable.init) {
            copy.setRoutes(routes, place)
        }
        return copy
    }
}

extension Route {
    /// The state of the same route in a snapshot; `nil` when it is not there.
    fileprivate func counted(in state: NetworkSnapshot) -> Route? {
        state.route(like: self)?.counted
    }
}

extension RoutingSettings {
    /// The settings as changes.
    fileprivate var changes: [NetworkChange] {
        let v4 = FamilySettings(
            family: .v4, place: .all, ignoresLinkdown: ipv4IgnoresLinkdown, forwards: arrival.ipv4Forwards,
            reversePathFilter: arrival.reversePathFilter, forwardsBroadcasts: arrival.forwardsBroadcasts)
        var v6 = FamilySettings(family: .v6, place: .all, ignoresLinkdown: ipv6IgnoresLinkdown)
        v6.forwards = ipv6Forwards
        return [.settings(v4), .settings(v6)]
    }
}

extension NetworkDifference.Change where Value == Link {
    /// Whether an interface changes because another one does: the one below it, its port, or the other end of a veth.
    fileprivate func follows(_ other: Self) -> Bool {
        guard let upper = latest, let lower = other.latest, upper.index != lower.index else { return false }
        let isAbove = upper.lowerHere == lower.index
        let isMaster = lower.master == upper.index || other.old?.master == upper.index
        let isPeer = upper.isPairEnd && !upper.lowerIsForeign && upper.lower == lower.index
        guard let before = old, let after = new else {
            // A VLAN goes with the interface that carries it.
            return isAbove && new == nil && other.new == nil
        }
        if isAbove { return true }
        guard isMaster || isPeer, after.differsInCarrierOnly(from: before) else { return false }
        guard isPeer, let peerBefore = other.old, let peerAfter = other.new else { return true }
        return peerBefore.flags.contains(.up) != peerAfter.flags.contains(.up)
    }
}
