// SPDX-License-Identifier: Apache-2.0

/// Which differences follow from others.
///
/// The snapshot's own rules are tried on both states: what vanishes from the older state when a change is applied to
/// it follows from that change, and what vanishes from the newer state when the change is reversed cannot be without
/// it. What the kernel notifies by itself is added here: its own routes and addresses, and interfaces above others.
struct DifferenceLinks {
    /// The places of the differences that follow from no other one.
    private(set) var roots: [Int] = []
    /// For each difference, the places of those that are taken back with it, its own among them.
    private(set) var closures: [Set<Int>] = []

    private let differences: [NetworkDifference]
    private let old: NetworkSnapshot
    private let new: NetworkSnapshot
    /// For each difference, those that follow from it.
    private var effects: [Set<Int>]
    /// For each difference, those that cannot be without it.
    private var dependents: [Set<Int>]
    /// The differences that mention each interface.
    private var byInterface: [UInt32: [Int]] = [:]
    /// The differences of routes.
    private var routes: [Int] = []
    /// The differences of routes that prefer each source.
    private var bySource: [IPAddress: [Int]] = [:]

    init(_ differences: [NetworkDifference], old: NetworkSnapshot, new: NetworkSnapshot) {
        (self.differences, self.old, self.new) = (differences, old, new)
        effects = Array(repeating: [], count: differences.count)
        dependents = effects
        for (place, difference) in differences.enumerated() {
            if case .route(let change) = difference {
                routes.append(place)
                if let source = change.latest?.preferredSource { bySource[source, default: []].append(place) }
            }
            for index in difference.interfaces { byInterface[index, default: []].append(place) }
        }
        for place in differences.indices { findEffects(of: place) }
        closeOver()
    }

    // MARK: Effects

    private mutating func findEffects(of place: Int) {
        switch differences[place] {
        case .link(let change):
            guard let index = change.latest?.index else { return }
            let concerned = byInterface[index] ?? []
            tryOut(place, change, concerned, { .link(LinkReport($0)) }, { .removedLink(index: $0.index) })
            for other in concerned where other != place && follows(differences[other], change) {
                effects[place].insert(other)
            }
            for (other, difference) in differences.enumerated() where other != place {
                guard case .link(let upper) = difference, upper.follows(change) else { continue }
                effects[place].insert(other)
            }
        case .address(let change):
            guard let address = change.latest else { return }
            let neighbours = byInterface[address.interfaceIndex] ?? []
            let concerned = neighbours + (bySource[address.address] ?? [])
            tryOut(place, change, concerned, { .address($0) }, { .removedAddress($0) })
            for other in concerned where follows(differences[other], change) { effects[place].insert(other) }
        case .nexthop(let change):
            tryOut(place, change, routes, { .nexthop($0) }, { .removedNexthop(id: $0.id) })
        case .settings(let change):
            tryOut(place, routes, done: change.new?.changes ?? [], undone: change.old?.changes ?? [])
        case .route, .rule, .neighbour: break
        }
    }

    /// Tries out that a value is added, removed or replaced.
    private mutating func tryOut<Value>(
        _ place: Int,
        _ change: NetworkDifference.Change<Value>,
        _ concerned: [Int],
        _ added: (Value) -> NetworkChange,
        _ removed: (Value) -> NetworkChange
    ) {
        guard let done = change.new.map(added) ?? change.old.map(removed),
            let undone = change.old.map(added) ?? change.new.map(removed)
        else { return }
        tryOut(place, concerned, done: [done], undone: [undone])
    }

    /// Applies a change to the older state, and its reverse to the newer one, and compares what became of others.
    private mutating func tryOut(
        _ place: Int,
        _ concerned: [Int],
        done: [NetworkChange],
        undone: [NetworkChange]
    ) {
        guard concerned.contains(where: { $0 != place }) else { return }
        var (forward, backward) = (old, new)
        for change in done { forward.apply(change) }
        for change in undone { backward.apply(change) }
        for other in concerned where other != place {
            if differences[other].isDone(in: forward) { effects[place].insert(other) }
            if differences[other].isDone(in: backward, backwards: true) { dependents[place].insert(other) }
        }
    }

    // MARK: What the kernel does by itself

    /// Whether an address or a route changes because its interface does.
    private func follows(_ difference: NetworkDifference, _ link: NetworkDifference.Change<Link>) -> Bool {
        switch difference {
        case .address(let change):
            guard let address = change.latest, address.address.family == .v6 else { return false }
            // IPv6 addresses go when an interface goes down; the others that come are announced by a router.
            return change.new == nil || address.address.isLinkLocal || !address.flags.contains(.permanent)
        case .route(let change):
            return change.latest?.isMadeByKernel ?? false
        case .neighbour: return true
        case .link, .nexthop, .rule, .settings: return false
        }
    }

    /// Whether a route is one that the kernel makes for an address.
    private func follows(
        _ difference: NetworkDifference,
        _ address: NetworkDifference.Change<InterfaceAddress>
    ) -> Bool {
        guard case .route(let change) = difference, let route = change.latest, route.isMadeByKernel,
            let address = address.latest
        else { return false }
        return route.preferredSource == address.address || route.destination.contains(address.address)
    }

    // MARK: Closures

    private mutating func closeOver() {
        let follow = effects.reduce(into: Set<Int>()) { $0.formUnion($1) }
        roots = differences.indices.filter { !follow.contains($0) }
        var reached = Set(roots.flatMap { closure(of: $0, effects) })
        // Differences that follow from each other: the first of them stands for all.
        for place in differences.indices where !reached.contains(place) {
            roots.append(place)
            reached.formUnion(closure(of: place, effects))
        }
        let both = zip(effects, dependents).map { $0.union($1) }
        closures = differences.indices.map { closure(of: $0, both) }
    }

    private func closure(of place: Int, _ edges: [Set<Int>]) -> Set<Int> {
        var found: Set<Int> = [place]
        var open = [place]
        while let next = open.popLast() {
            for other in edges[next] where found.insert(other).inserted { open.append(other) }
        }
        return found
    }
}

extension NetworkDifference {
    /// The interfaces that an address, a route, a nexthop object or a neighbour is on; of an interface its own index.
    fileprivate var interfaces: Set<UInt32> {
        switch self {
        case .link(let change): Set([change.latest?.index].compactMap(\.self))
        case .address(let change): Set([change.latest?.interfaceIndex].compactMap(\.self))
        case .neighbour(let change): Set([change.latest?.key.interfaceIndex].compactMap(\.self))
        case .route(let change):
            Set([change.old, change.new].flatMap { $0?.nexthops.map(\.interfaceIndex) ?? [] })
        case .nexthop(let change):
            Set(
                [change.old, change.new].compactMap { object in
                    guard case .single(let nexthop)? = object?.kind else { return nil }
                    return nexthop.interfaceIndex
                })
        case .rule, .settings: []
        }
    }

    /// Whether a state, which lacked the difference, has it; backwards, whether one that had it lacks it.
    fileprivate func isDone(in state: NetworkSnapshot, backwards: Bool = false) -> Bool {
        switch self {
        case .address(let change):
            let (old, new) = change.ends(backwards)
            return new == nil && !(old?.isPresent(in: state) ?? false)
        case .nexthop(let change):
            let (old, new) = change.ends(backwards)
            return old.map { state.nexthopObjects[$0.id] == new } ?? false
        case .neighbour(let change):
            let (old, new) = change.ends(backwards)
            return old.map { state.neighbours?[$0.key] == new } ?? false
        case .route(let change):
            let (old, new) = change.ends(backwards)
            return old.map { $0.counted(in: state) != $0.counted } ?? false
                && (new ?? old)?.counted(in: state) == new?.counted
        case .link, .rule, .settings: return false
        }
    }
}

extension NetworkDifference.Change {
    /// The value before and after the change, or after and before it.
    fileprivate func ends(_ backwards: Bool) -> (Value?, Value?) {
        backwards ? (new, old) : (old, new)
    }
}

extension InterfaceAddress {
    fileprivate func isPresent(in state: NetworkSnapshot) -> Bool {
        state.addresses(ofInterface: interfaceIndex, family: address.family).contains(self)
    }
}

extension Route {
    /// The state of the same route in a snapshot; `nil` when it is not there.
    fileprivate func counted(in state: NetworkSnapshot) -> Route? {
        state.chain(destination, table: table).first { $0.identity == identity }?.counted
    }
}

extension NetworkSettings {
    /// The settings as changes.
    fileprivate var changes: [NetworkChange] {
        let v4 = FamilySettings(family: .v4, place: .all, ignoresLinkdown: ipv4IgnoresLinkdown)
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
