// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Attributes by number, each kept once with the count of routes that use it.
struct RouteAttributePool: Sendable {
    private struct Slot {
        /// `nil` for a number that is free.
        var route: Route? {
            didSet {
                plainMatch = route?.plainMatch
                balances = route?.balances ?? false
                orderKey = route?.orderKey ?? 0
            }
        }
        /// The match of a packet, where only the type and the single nexthop matter.
        private(set) var plainMatch: RouteMatch?
        /// The order of a route among those of its prefix.
        private(set) var balances = false
        private(set) var orderKey: UInt64 = 0
        var uses = 0
        /// The destination of all routes that use them; `nil` for several.
        var destination: IPPrefix?
    }

    private var slots: [Slot] = []
    private var numbers: [RouteAttributes: UInt32] = [:]
    private var free: [UInt32] = []
    /// The numbers by ``Route/identityHash``.
    private var identities: [Int: Set<UInt32>] = [:]
    /// The numbers that a notification affects.
    private(set) var index = RouteAttributeIndex()

    /// The attributes of a number.
    subscript(_ number: UInt32) -> Route {
        guard let route = slots[Int(number)].route else {
            preconditionFailure("attributes \(number) are gone")
        }
        return route
    }

    /// The match of a packet, where only the type and the single nexthop matter.
    func plainMatch(_ number: UInt32) -> RouteMatch? {
        slots[Int(number)].plainMatch
    }

    /// Whether IPv6 spreads packets over a route with these attributes and others like it.
    func balances(_ number: UInt32) -> Bool { slots[Int(number)].balances }

    /// The ``Route/orderKey`` of attributes.
    func orderKey(_ number: UInt32) -> UInt64 { slots[Int(number)].orderKey }

    /// The source prefix of routes with these attributes.
    func source(_ number: UInt32) -> IPPrefix? { slots[Int(number)].route?.source }

    /// The destination of all routes with these attributes; `nil` for several.
    func destination(_ number: UInt32) -> IPPrefix? { slots[Int(number)].destination }

    /// Whether attributes are used more than once.
    func isShared(_ number: UInt32) -> Bool { slots[Int(number)].uses > 1 }

    /// The attributes that the same route can have in another state.
    func candidates(like route: Route) -> RouteCandidates {
        RouteCandidates(identities[route.identityHash] ?? [])
    }

    /// The numbers in use.
    var inUse: [UInt32] {
        slots.indices.filter { slots[$0].route != nil }.map(UInt32.init)
    }

    /// Counts one more route with these attributes.
    mutating func retain(_ route: Route) -> UInt32 {
        let attributes = RouteAttributes(route)
        if let number = numbers[attributes] {
            slots[Int(number)].uses += 1
            if slots[Int(number)].destination != route.destination { slots[Int(number)].destination = nil }
            return number
        }
        let number = free.popLast() ?? UInt32(slots.count)
        if Int(number) == slots.count { slots.append(Slot()) }
        slots[Int(number)].route = attributes.route
        slots[Int(number)].uses = 1
        slots[Int(number)].destination = route.destination
        numbers[attributes] = number
        index.insert(number, route)
        identities[route.identityHash, default: []].insert(number)
        return number
    }

    /// Counts one route less; attributes without a route are removed.
    mutating func release(_ number: UInt32) {
        slots[Int(number)].uses -= 1
        guard slots[Int(number)].uses == 0 else { return }
        forget(number, self[number])
        slots[Int(number)].route = nil
        free.append(number)
    }

    /// Changes attributes in place, for all routes that use them.
    ///
    /// - Parameters:
    ///   - affected: The numbers to look at, all of them in use.
    ///   - change: Changes what it is given, or not.
    mutating func update(_ affected: Set<UInt32>, _ change: (inout Route) -> Void) {
        for number in affected.sorted() {
            let before = self[number]
            var route = before
            change(&route)
            guard route != before else { continue }
            forget(number, before)
            slots[Int(number)].route = route
            index.insert(number, route)
            identities[route.identityHash, default: []].insert(number)
            // Where another number has the same attributes already, both live on.
            let attributes = RouteAttributes(route)
            if numbers[attributes] == nil { numbers[attributes] = number }
        }
    }

    /// Removes a number from the lists of the attributes that it stood for.
    private mutating func forget(_ number: UInt32, _ route: Route) {
        let attributes = RouteAttributes(route)
        if numbers[attributes] == number { numbers[attributes] = nil }
        index.remove(number, route)
        identities.remove(number, at: route.identityHash)
    }
}

/// A route without its destination and lifetime: what a million routes of one table have in common.
struct RouteAttributes: Hashable, Sendable {
    /// A route of the same family to all addresses, without a lifetime.
    let route: Route

    init(_ route: Route) {
        var shared = route
        shared.destination = route.destination.family == .v4 ? .allV4 : .allV6
        shared.expires = nil
        self.route = shared
    }
}

extension Route {
    /// A hash of the attributes that set routes of a prefix apart, without their state.
    ///
    /// Those of IPv4 can differ in more, such as the preferred source alone.
    fileprivate var identityHash: Int {
        var hasher = Hasher()
        hasher.combine(destination.family)
        hasher.combine(UInt64(table) << 32 | UInt64(priority))
        hasher.combine(nexthopID)
        if let source { hasher.combine(source) }
        for nexthop in nexthops {
            hasher.combine(nexthop.gateway?.bits ?? 0)
            hasher.combine(UInt64(nexthop.interfaceIndex) << 32 | UInt64(nexthop.weight))
        }
        if destination.family == .v4 {
            hasher.combine(preferredSource?.bits ?? 0)
            hasher.combine(
                UInt32(type.rawValue) << 24 | UInt32(tos) << 16 | UInt32(scope.rawValue) << 8 | UInt32(origin)
            )
        }
        return hasher.finalize()
    }

    /// The type with the only nexthop, where they are all that matters; `nil` where more does.
    ///
    /// That is a unicast, broadcast, anycast or multicast route for any type of service, with one nexthop that is
    /// alive, no nexthop object behind it, and a source that is not the loopback's.
    fileprivate var plainMatch: RouteMatch? {
        guard (1...5).contains(type.rawValue), type != .local, tos == 0, nexthopID == 0, source == nil,
            scope.rawValue < RouteScope.host.rawValue, preferredSource?.isLoopback != true,
            nexthops.count == 1, !nexthops[0].isDown
        else { return nil }
        return RouteMatch(type, nexthops[0])
    }
}

/// Finds the attributes that a notification affects, without a search of all.
struct RouteAttributeIndex: Sendable {
    /// What attributes can have in common.
    enum Trait: Hashable {
        /// A nexthop through an interface.
        case through(UInt32, IPAddress.Family)
        /// One that is dead or without a carrier.
        case marked(UInt32, IPAddress.Family)
        /// One that is dead.
        case dead(UInt32, IPAddress.Family)
        /// A preferred source.
        case preferring(IPAddress)
        /// A nexthop object.
        case naming(UInt32)
        /// An IPv4 gateway.
        case via(IPAddress)
    }

    private var numbers: [Trait: Set<UInt32>] = [:]

    /// The attributes with a trait.
    subscript(_ trait: Trait) -> Set<UInt32> {
        numbers[trait] ?? []
    }

    /// Adds the attributes of a route.
    mutating func insert(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers[$0, default: []].insert(number) }
    }

    /// Removes the attributes of a route.
    mutating func remove(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers.remove(number, at: $0) }
    }

    private static func forEachTrait(of route: Route, _ body: (Trait) -> Void) {
        let family = route.destination.family
        for nexthop in route.nexthops {
            let index = nexthop.interfaceIndex
            body(.through(index, family))
            if let gateway = nexthop.gateway, gateway.family == .v4 { body(.via(gateway)) }
            if nexthop.flags.contains(.dead) { body(.dead(index, family)) }
            if nexthop.isDown { body(.marked(index, family)) }
        }
        if let source = route.preferredSource { body(.preferring(source)) }
        if route.nexthopID != 0 { body(.naming(route.nexthopID)) }
    }
}

/// Attributes that can be those of a route, and the search for them among the routes of a prefix.
///
/// A prefix can have as many routes as there are interfaces: a look at the attributes of each takes too long.
enum RouteCandidates {
    case one(UInt32)
    case several(Set<UInt32>)
    /// Any attributes.
    case all

    init(_ numbers: Set<UInt32>) {
        self =
            if numbers.count == 1, let only = numbers.first { .one(only) } else { .several(numbers) }
    }

    /// Whether there are no others than these.
    func isOnly(_ number: UInt32) -> Bool {
        if case .one(number) = self { true } else { false }
    }

    /// The index of the first entry whose attributes satisfy a condition.
    func first(in entries: ArraySlice<RouteEntry>, where isMatch: (UInt32) -> Bool) -> Int? {
        if case .several(let numbers) = self, numbers.count <= Self.fewCount {
            // Usually none of them does, and the entries need not be searched.
            let matching = numbers.filter(isMatch)
            return matching.isEmpty ? nil : entries.firstIndex { matching.contains($0.attributes) }
        }
        return entries.firstIndex { contains($0.attributes) && isMatch($0.attributes) }
    }

    /// As many attributes as can be looked at for each route.
    private static let fewCount = 256

    /// The index of the last entry whose attributes satisfy a condition.
    func last(in entries: ArraySlice<RouteEntry>, where isMatch: (UInt32) -> Bool) -> Int? {
        isNone ? nil : entries.lastIndex { contains($0.attributes) && isMatch($0.attributes) }
    }

    private var isNone: Bool {
        if case .several(let numbers) = self { numbers.isEmpty } else { false }
    }

    private func contains(_ number: UInt32) -> Bool {
        switch self {
        case .one(let only): only == number
        case .several(let numbers): numbers.contains(number)
        case .all: true
        }
    }
}
