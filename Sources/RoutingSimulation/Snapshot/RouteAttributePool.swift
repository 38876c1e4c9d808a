// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Attributes by number, each kept once with the count of routes that use it.
struct RouteAttributePool: Sendable {
    /// What a lookup needs to know of attributes before it reads them whole.
    struct Summary: Sendable {
        /// The only nexthop of a plain route.
        var nexthop: Nexthop
        /// The type of the route.
        var type: RouteType
        /// Whether the nexthop and the type are all that matters: unicast, local, broadcast, anycast or multicast, for
        /// any type of service, with one nexthop that is alive, and no nexthop object behind it.
        var isPlain: Bool
    }

    private var whole: [Route?] = []
    private(set) var summaries: ContiguousArray<Summary> = []
    private var uses: [UInt32] = []
    private var numbers: [RouteAttributes: UInt32] = [:]
    private var free: [UInt32] = []
    /// Which numbers a notification concerns.
    private(set) var index = RouteAttributeIndex()

    /// The attributes of a number, as those of a route to all addresses.
    subscript(_ number: UInt32) -> Route {
        guard let route = whole[Int(number)] else { preconditionFailure("attributes \(number) are gone") }
        return route
    }

    /// The numbers in use.
    var inUse: [UInt32] {
        whole.indices.filter { whole[$0] != nil }.map(UInt32.init)
    }

    /// Takes a use of a route's attributes.
    mutating func retain(_ route: Route) -> UInt32 {
        let attributes = RouteAttributes(route)
        if let number = numbers[attributes] {
            uses[Int(number)] += 1
            return number
        }
        let number = free.popLast() ?? UInt32(whole.count)
        if Int(number) == whole.count {
            whole.append(nil)
            summaries.append(Summary(route))
            uses.append(0)
        }
        whole[Int(number)] = attributes.route
        summaries[Int(number)] = Summary(route)
        uses[Int(number)] = 1
        numbers[attributes] = number
        index.insert(number, route)
        return number
    }

    /// Gives a use back.
    mutating func release(_ number: UInt32) {
        uses[Int(number)] -= 1
        guard uses[Int(number)] == 0 else { return }
        forget(number, self[number])
        whole[Int(number)] = nil
        free.append(number)
    }

    /// Changes attributes in place, for all routes that use them.
    ///
    /// - Parameters:
    ///   - concerned: The numbers to look at, all of them in use.
    ///   - change: Changes what it is given, or not.
    /// - Returns: The numbers of what changed.
    @discardableResult
    mutating func update(_ concerned: Set<UInt32>, _ change: (inout Route) -> Void) -> Set<UInt32> {
        var changed: Set<UInt32> = []
        for number in concerned.sorted() {
            let before = self[number]
            var route = before
            change(&route)
            guard route != before else { continue }
            changed.insert(number)
            forget(number, before)
            whole[Int(number)] = route
            summaries[Int(number)] = Summary(route)
            index.insert(number, route)
            // Where another number has the same attributes already, both live on.
            let attributes = RouteAttributes(route)
            if numbers[attributes] == nil { numbers[attributes] = number }
        }
        return changed
    }

    /// Makes a number stand for other attributes than these, or none.
    private mutating func forget(_ number: UInt32, _ route: Route) {
        let attributes = RouteAttributes(route)
        if numbers[attributes] == number { numbers[attributes] = nil }
        index.remove(number, route)
    }

    /// The bytes allocated, hash table included; an estimate for attributes with nexthops.
    var memoryFootprint: Int {
        let nexthops = whole.reduce(0) {
            $0 + ($1.map { 32 + $0.nexthops.count * MemoryLayout<Nexthop>.stride } ?? 0)
        }
        return whole.capacity * MemoryLayout<Route?>.stride
            + summaries.capacity * MemoryLayout<Summary>.stride
            + (uses.capacity + free.capacity) * 4
            + numbers.capacity * (MemoryLayout<RouteAttributes>.stride + 4) * 4 / 3
            + nexthops
    }
}

extension RouteAttributePool.Summary {
    init(_ route: Route) {
        type = route.type
        nexthop = route.nexthops.first ?? Nexthop(interfaceIndex: 0)
        isPlain =
            (1...5).contains(type.rawValue) && route.nexthops.count == 1 && route.tos == 0
            && route.nexthopID == 0 && route.source == nil
            && nexthop.flags.isDisjoint(with: [.dead, .linkDown])
    }
}
