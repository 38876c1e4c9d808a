// SPDX-License-Identifier: Apache-2.0

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

    private var whole: [RouteAttributes?] = []
    private(set) var summaries: ContiguousArray<Summary> = []
    private var uses: [UInt32] = []
    private var numbers: [RouteAttributes: UInt32] = [:]
    private var free: [UInt32] = []
    /// Which numbers a notification concerns.
    private(set) var index = RouteAttributeIndex()
    /// Grows whenever a number may mean something else than before.
    private(set) var generation: UInt64 = 0

    /// The attributes of a number.
    subscript(_ number: UInt32) -> RouteAttributes {
        guard let attributes = whole[Int(number)] else {
            preconditionFailure("attributes \(number) are gone")
        }
        return attributes
    }

    /// The numbers in use.
    var inUse: [UInt32] {
        whole.indices.filter { whole[$0] != nil }.map(UInt32.init)
    }

    /// Takes a use of attributes.
    mutating func retain(_ attributes: RouteAttributes) -> UInt32 {
        if let number = numbers[attributes] {
            uses[Int(number)] += 1
            return number
        }
        let number: UInt32
        if let reused = free.popLast() {
            number = reused
            whole[Int(number)] = attributes
            summaries[Int(number)] = Summary(attributes)
            uses[Int(number)] = 1
        } else {
            number = UInt32(whole.count)
            whole.append(attributes)
            summaries.append(Summary(attributes))
            uses.append(1)
        }
        numbers[attributes] = number
        index.insert(number, attributes)
        return number
    }

    /// The number of attributes that are in use.
    func number(of attributes: RouteAttributes) -> UInt32? {
        numbers[attributes]
    }

    /// Takes one more use of attributes that are in use.
    mutating func retain(_ number: UInt32) {
        uses[Int(number)] += 1
    }

    /// Gives a use back.
    mutating func release(_ number: UInt32) {
        uses[Int(number)] -= 1
        guard uses[Int(number)] == 0, let attributes = whole[Int(number)] else { return }
        generation += 1
        if numbers[attributes] == number { numbers[attributes] = nil }
        whole[Int(number)] = nil
        index.remove(number, attributes)
        free.append(number)
    }

    /// Changes attributes in place, for all routes that use them.
    ///
    /// - Parameters:
    ///   - concerned: The numbers to look at, all of them in use.
    ///   - change: Changes what it is given, or not.
    /// - Returns: The numbers of what changed.
    @discardableResult
    mutating func update(
        _ concerned: Set<UInt32>,
        _ change: (inout RouteAttributes) -> Void
    ) -> Set<UInt32> {
        var changed: Set<UInt32> = []
        for number in concerned.sorted() {
            var attributes = self[number]
            let before = attributes
            change(&attributes)
            guard attributes != before else { continue }
            changed.insert(number)
            generation += 1
            if numbers[before] == number { numbers[before] = nil }
            whole[Int(number)] = attributes
            summaries[Int(number)] = Summary(attributes)
            index.remove(number, before)
            index.insert(number, attributes)
            // Where another number has the same attributes already, both live on.
            if numbers[attributes] == nil { numbers[attributes] = number }
        }
        return changed
    }

    /// The bytes allocated, hash table included; an estimate for attributes with nexthops.
    var memoryFootprint: Int {
        let nexthops = whole.reduce(0) {
            $0 + ($1.map { 32 + $0.nexthops.count * MemoryLayout<Nexthop>.stride } ?? 0)
        }
        return whole.capacity * MemoryLayout<RouteAttributes?>.stride
            + summaries.capacity * MemoryLayout<Summary>.stride
            + (uses.capacity + free.capacity) * 4
            + numbers.capacity * (MemoryLayout<RouteAttributes>.stride + 4) * 4 / 3
            + nexthops
    }
}

extension RouteAttributePool.Summary {
    init(_ attributes: RouteAttributes) {
        type = attributes.type
        nexthop = attributes.nexthops.first ?? Nexthop(interfaceIndex: 0)
        isPlain =
            (1...5).contains(type.rawValue) && attributes.nexthops.count == 1 && attributes.tos == 0
            && attributes.nexthopID == 0 && attributes.source == nil
            && nexthop.flags.isDisjoint(with: [.dead, .linkDown])
    }
}
