// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Finds which differences follow from others.
///
/// Applies each change to the older state: the objects that vanish from that state follow from the change. Adds the
/// consequences that the kernel notifies of by itself: its own routes and addresses, and interfaces above others.
struct DifferenceLinks {
    /// The most differences examined and parts of a state copied, summed over all changes that are tried.
    private static let workLimit = 40_000_000

    /// Whether there are few enough differences to find their causes.
    let isKnown: Bool
    /// The indices of the differences without a cause among the others.
    private(set) var roots: Set<Int> = []

    private let differences: [NetworkDifference]
    private let old: NetworkSnapshot
    /// The interfaces of each difference, by its index.
    private let interfaces: [Set<UInt32>]
    /// For each difference, the differences that follow from it.
    private var effects: [Set<Int>]
    /// For each difference, the differences that it follows from.
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

    /// The indices of some differences and of all their causes, direct and indirect.
    func causes(of indices: [Int]) -> Set<Int> {
        var found: Set<Int> = []
        Self.reach(indices, &found) { causes[$0] }
        return found
    }

    private mutating func findRoots() {
        roots = Set(differences.indices.filter { causes[$0].isEmpty })
        var reached: Set<Int> = []
        Self.reach(Array(roots), &reached) { effects[$0] }
        // In a cycle of differences that follow from each other, the first one is the root.
        for index in differences.indices where !reached.contains(index) {
            roots.insert(index)
            Self.reach([index], &reached) { effects[$0] }
        }
    }

    /// Adds some indices and all indices that edges lead to from them.
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
            // A member that goes leaves its groups.
            let members = differences.indices.filter { other in
                guard case .nexthop(let group) = differences[other], let id = group.latest?.id else {
                    return false
                }
                return groups.contains(id)
            }
            tryOut(index, affected + members)
        case .settings(let change):
            let all = change.new.map { settings in SettingsReport(.all) { $0 = settings } }
            tryOut(index, routes { _ in true }, all.map { [.settings($0)] })
        case .route, .rule, .neighbour: break
        }
    }

    /// The indices of the differences of routes whose old or new route meets the condition.
    private func routes(_ isMeant: (Route) -> Bool) -> [Int] {
        differences.indices.filter { index in
            guard let change = differences[index].route else { return false }
            return change.old.map(isMeant) ?? false || change.new.map(isMeant) ?? false
        }
    }

    /// The differences that an IPv4 address can cause: routes with it as the preferred source, and everything on its
    /// interface if it is the only IPv4 address there.
    private func affected(by address: InterfaceAddress) -> [Int] {
        guard address.address.family == .v4 else { return [] }
        let preferring = routes { $0.preferredSource == address.address }
        let others = old.addresses(ofInterface: address.interfaceIndex, family: .v4)
        guard others.allSatisfy({ $0 == address }) else { return preferring }
        return preferring + interfaces.indices.filter { interfaces[$0].contains(address.interfaceIndex) }
    }

    /// Applies a difference to the older state, and records which of the affected differences result.
    private mutating func tryOut(_ index: Int, _ affected: [Int], _ settings: [NetworkChange]? = nil) {
        // A change does not remove an object that the older state lacks.
        let present = affected.filter { $0 != index && differences[$0].kind != .added }
        guard !present.isEmpty else { return }
        var state = old.holding(present.compactMap { differences[$0].route?.old })
        for change in settings ?? [differences[index].change].compactMap(\.self) { state.apply(change) }
        effects[index].formUnion(present.filter { differences[$0].isDone(in: state) })
    }

    // MARK: Consequences in the kernel

    /// Whether an address, a route or another interface changes because an interface does.
    private func follows(_ difference: NetworkDifference, _ link: NetworkDifference.Change<Link>) -> Bool {
        switch difference {
        case .link(let change): return change.follows(link)
        case .address(let change):
            guard let address = change.latest, address.address.family == .v6 else { return false }
            // The kernel removes IPv6 addresses of an interface that goes down, and adds those that a router announces.
            return change.new == nil || address.address.isLinkLocal || !address.flags.contains(.permanent)
        case .route(let change):
            return change.latest?.isMadeByKernel ?? false
        case .neighbour: return true
        case .nexthop, .rule, .settings: return false
        }
    }

    /// Whether the kernel makes the route of a difference for an address.
    private func follows(_ difference: NetworkDifference, _ address: InterfaceAddress) -> Bool {
        guard let route = difference.route?.latest, route.isMadeByKernel else { return false }
        return route.preferredSource == address.address
            || route.destination.contains(address.address)
                && difference.interfaces.contains(address.interfaceIndex)
    }
}

extension NetworkDifference {
    /// Whether a state, which began as the older one, now has the difference.
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
    /// A copy with these routes alone, so that a change copies no whole tables.
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
    /// The same route in a snapshot, as far as its state counts; `nil` if the snapshot lacks the route.
    fileprivate func counted(in state: NetworkSnapshot) -> Route? {
        state.route(like: self)?.counted
    }
}

extension NetworkDifference.Change where Value == Link {
    /// Whether an interface changes because of another one: its lower interface, its port, or its veth peer.
    fileprivate func follows(_ other: Self) -> Bool {
        guard let upper = latest, let lower = other.latest, upper.index != lower.index else { return false }
        let isAbove = upper.lowerHere == lower.index
        let isMaster = lower.master == upper.index || other.old?.master == upper.index
        let isPeer = upper.isPairEnd && !upper.lowerIsForeign && upper.lower == lower.index
        guard let before = old, let after = new else {
            // The kernel removes a VLAN with its lower interface.
            return isAbove && new == nil && other.new == nil
        }
        if isAbove { return true }
        guard isMaster || isPeer, after.differsInCarrierOnly(from: before) else { return false }
        guard isPeer, let peerBefore = other.old, let peerAfter = other.new else { return true }
        return peerBefore.flags.contains(.up) != peerAfter.flags.contains(.up)
    }
}
