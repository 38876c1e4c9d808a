// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A pool of route attributes by number.
///
/// Each is stored once, with the number of routes that use it.
struct RouteAttributePool: Sendable {
    private struct Slot {
        /// `nil` for a free number.
        var route: Route? {
            didSet {
                plainMatch = route?.plainMatch
                balances = route?.balances ?? false
                orderKey = route?.orderKey ?? 0
            }
        }
        /// The match for a packet, if it consists only of the type and a single nexthop.
        private(set) var plainMatch: RouteMatch?
        /// The properties that decide the order of routes with the same prefix.
        private(set) var balances = false
        private(set) var orderKey: UInt64 = 0
        var uses = 0
        /// The destination of all routes with these attributes; `nil` if there are several.
        var destination: IPPrefix?
    }

    private var slots: [Slot] = []
    private var numbers: [RouteAttributes: UInt32] = [:]
    private var free: [UInt32] = []
    /// The numbers by ``Route/identityHash``.
    private var identities: [Int: Set<UInt32>] = [:]
    /// The numbers that a notification can affect.
    private(set) var index = RouteAttributeIndex()

    /// The attributes with a number.
    subscript(_ number: UInt32) -> Route {
        guard let route = slots[Int(number)].route else {
            preconditionFailure("attributes \(number) are gone")
        }
        return route
    }

    /// The match for a packet, if it consists only of the type and a single nexthop.
    func plainMatch(_ number: UInt32) -> RouteMatch? {
        slots[Int(number)].plainMatch
    }

    /// Whether IPv6 distributes packets over a route with these attributes and similar ones.
    func balances(_ number: UInt32) -> Bool { slots[Int(number)].balances }

    /// The ``Route/orderKey`` of routes with these attributes.
    func orderKey(_ number: UInt32) -> UInt64 { slots[Int(number)].orderKey }

    /// The source prefix of routes with these attributes.
    func source(_ number: UInt32) -> IPPrefix? { slots[Int(number)].route?.source }

    /// The destination of all routes with these attributes; `nil` if there are several.
    func destination(_ number: UInt32) -> IPPrefix? { slots[Int(number)].destination }

    /// Whether several routes use the attributes.
    func isShared(_ number: UInt32) -> Bool { slots[Int(number)].uses > 1 }

    /// The attributes that the same route can have, in any state.
    func candidates(like route: Route) -> RouteCandidates {
        RouteCandidates(identities[route.identityHash] ?? [])
    }

    /// The numbers in use.
    var inUse: [UInt32] {
        slots.indices.filter { slots[$0].route != nil }.map(UInt32.init)
    }

    /// Counts one more route with these attributes, and returns their number.
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

    /// Counts one route less.
    ///
    /// Attributes without a route are removed.
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
    ///   - affected: The numbers to visit. All of them must be in use.
    ///   - change: Changes the attributes, or leaves them unchanged.
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
            // If another number already has the same attributes, both numbers stay in use.
            let attributes = RouteAttributes(route)
            if numbers[attributes] == nil { numbers[attributes] = number }
        }
    }

    /// Removes a number from the index of the attributes that it had.
    private mutating func forget(_ number: UInt32, _ route: Route) {
        let attributes = RouteAttributes(route)
        if numbers[attributes] == number { numbers[attributes] = nil }
        index.remove(number, route)
        identities.remove(number, at: route.identityHash)
    }
}

/// A route without its destination and lifetime: the part that many routes of a table share.
struct RouteAttributes: Hashable, Sendable {
    /// The attributes as a route to all addresses of the same family, without a lifetime.
    let route: Route

    init(_ route: Route) {
        var shared = route
        shared.destination = route.destination.family == .v4 ? .allV4 : .allV6
        shared.expires = nil
        self.route = shared
    }
}

extension Route {
    /// A hash of the attributes that distinguish routes of a prefix, without their state.
    ///
    /// IPv4 routes can also differ in other attributes, such as only the preferred source.
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

    /// The type and the only nexthop, if nothing else affects a packet; `nil` otherwise.
    ///
    /// This is a unicast, broadcast or multicast route for any type of service. It has one nexthop, which is not dead,
    /// no nexthop object, and no loopback source.
    fileprivate var plainMatch: RouteMatch? {
        guard (1...5).contains(type.rawValue), type != .local, type != .anycast, tos == 0, nexthopID == 0,
            source == nil,
            scope.rawValue < RouteScope.host.rawValue, preferredSource?.isLoopback != true,
            nexthops.count == 1, !nexthops[0].isDown
        else { return nil }
        return RouteMatch(type, nexthops[0])
    }
}

/// An index of the attributes that a notification can affect.
struct RouteAttributeIndex: Sendable {
    /// A property that attributes can share.
    enum Trait: Hashable {
        /// A nexthop through an interface.
        case through(UInt32, IPAddress.Family)
        /// A nexthop through an interface that is dead or without a carrier.
        case marked(UInt32, IPAddress.Family)
        /// A nexthop through an interface that is dead.
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

/// The attributes that a route can have, and a search for them among the routes of a prefix.
///
/// A prefix can have as many routes as there are interfaces. Comparing the attributes of each would take too long.
struct RouteCandidates {
    /// Any attributes.
    static let all = RouteCandidates(nil)

    /// `nil` for any attributes.
    private let numbers: Set<UInt32>?

    init(_ numbers: Set<UInt32>?) {
        self.numbers = numbers
    }

    /// Whether this number is the only candidate.
    func isOnly(_ number: UInt32) -> Bool {
        numbers.map { $0.count == 1 && $0.contains(number) } ?? false
    }

    /// The index of the first entry with a candidate that satisfies a condition.
    func first(in entries: ArraySlice<RouteEntry>, where isMatch: (UInt32) -> Bool) -> Int? {
        if let numbers, numbers.count <= entries.count {
            // Usually no candidate or one satisfies the condition, so that few entries are compared with it.
            let matching = numbers.filter(isMatch)
            return matching.isEmpty ? nil : entries.firstIndex { matching.contains($0.attributes) }
        }
        return entries.firstIndex { contains($0.attributes) && isMatch($0.attributes) }
    }

    /// The index of the last entry with a candidate that satisfies a condition.
    func last(in entries: ArraySlice<RouteEntry>, where isMatch: (UInt32) -> Bool) -> Int? {
        if numbers?.isEmpty == true { return nil }
        return entries.lastIndex { contains($0.attributes) && isMatch($0.attributes) }
    }

    private func contains(_ number: UInt32) -> Bool { numbers?.contains(number) ?? true }
}
