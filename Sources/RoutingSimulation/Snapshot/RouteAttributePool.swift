// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Attributes by number, each kept once with the count of routes that use it.
///
/// Attributes are all of a route but its destination and lifetime: what a million routes of one table have in common.
/// They are kept as a route to all addresses of the family.
struct RouteAttributePool: Sendable {
    private struct Slot {
        /// `nil` for a number that is free.
        var route: Route?
        var uses = 0
    }

    private var slots: [Slot] = []
    private var numbers: [Route: UInt32] = [:]
    private var free: [UInt32] = []
    /// Which numbers a notification concerns.
    private(set) var index = RouteAttributeIndex()

    /// The attributes of a number.
    subscript(_ number: UInt32) -> Route {
        guard let route = slots[Int(number)].route else {
            preconditionFailure("attributes \(number) are gone")
        }
        return route
    }

    /// The numbers in use.
    var inUse: [UInt32] {
        slots.indices.filter { slots[$0].route != nil }.map(UInt32.init)
    }

    /// Takes a use of a route's attributes.
    mutating func retain(_ route: Route) -> UInt32 {
        let attributes = route.attributes
        if let number = numbers[attributes] {
            slots[Int(number)].uses += 1
            return number
        }
        let number = free.popLast() ?? UInt32(slots.count)
        if Int(number) == slots.count { slots.append(Slot()) }
        slots[Int(number)] = Slot(route: attributes, uses: 1)
        numbers[attributes] = number
        index.insert(number, attributes)
        return number
    }

    /// Gives a use back.
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
    ///   - concerned: The numbers to look at, all of them in use.
    ///   - change: Changes what it is given, or not.
    mutating func update(_ concerned: Set<UInt32>, _ change: (inout Route) -> Void) {
        for number in concerned.sorted() {
            let before = self[number]
            var route = before
            change(&route)
            guard route != before else { continue }
            forget(number, before)
            slots[Int(number)].route = route
            index.insert(number, route)
            // Where another number has the same attributes already, both live on.
            if numbers[route] == nil { numbers[route] = number }
        }
    }

    /// Makes a number stand for other attributes than these, or none.
    private mutating func forget(_ number: UInt32, _ attributes: Route) {
        if numbers[attributes] == number { numbers[attributes] = nil }
        index.remove(number, attributes)
    }

    /// The bytes allocated, hash table included; an estimate for attributes with nexthops.
    var memoryFootprint: Int {
        let nexthops = slots.reduce(0) {
            $0 + 32 + ($1.route?.nexthops.count ?? 0) * MemoryLayout<Nexthop>.stride
        }
        return slots.capacity * MemoryLayout<Slot>.stride
            + numbers.capacity * (MemoryLayout<Route>.stride + 4) * 4 / 3 + nexthops
    }
}

extension Route {
    /// The route without its destination and lifetime.
    fileprivate var attributes: Route {
        var route = self
        route.destination = destination.family == .v4 ? .allV4 : .allV6
        route.expires = nil
        return route
    }
}
