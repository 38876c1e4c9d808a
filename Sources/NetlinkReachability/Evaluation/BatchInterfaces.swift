// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The facts about interfaces that a batch knows.
struct BatchInterfaces {
    let facts: NetworkFacts
    /// Facts by the index of the interface; about the same one, those that came with the answers, the newest first, and
    /// then those that were fetched since.
    private var known: [InterfaceReading] = []
    /// Whether one of the interfaces is a tunnel.
    private(set) var haveTunnels = false

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// Answers queries, and keeps the facts that come with the answers: a later one can be about the same interface.
    mutating func answer(_ queries: inout [RouteLookup]) throws(ReachabilityError) {
        let found = try facts.routing.answer(&queries, from: 0)
        known = known.isEmpty ? found : found + known
        // The newest ones stay first: the order is stable.
        if known.count > 1 { known.sort { $0.facts.index < $1.facts.index } }
        for reading in found { note(reading.facts) }
    }

    /// Fetches the facts about the interfaces of an answer that are not known.
    ///
    /// - Returns: Whether one of the interfaces exists, or none matters.
    mutating func fetch(_ answer: RouteAnswer, _ detail: QueryDetail) throws(ReachabilityError) -> Bool {
        guard case .taken(let match) = answer else { return true }
        let decides = match.type.leavesHost
        guard decides || detail != .flags else { return true }
        guard match.hasSeveralNexthops else {
            guard let nexthop = match.nexthop else { return !decides }
            return try fetch(nexthop.interfaceIndex, detail) || !decides
        }
        var isAnyFound = false
        for nexthop in match.nexthops where try fetch(nexthop.interfaceIndex, detail) { isAnyFound = true }
        return isAnyFound || !decides
    }

    /// Fetches the facts about an interface, unless they are known.
    ///
    /// - Returns: Whether the interface exists.
    mutating func fetch(_ index: UInt32, _ detail: QueryDetail) throws(ReachabilityError) -> Bool {
        if place(of: index, detail) != nil { return true }
        guard let found = try facts.routing.facts(aboutInterface: index, detail: detail) else { return false }
        known.insert(InterfaceReading(found, detail), at: known.partitioningIndex { $0.facts.index > index })
        note(found)
        return true
    }

    private mutating func note(_ facts: InterfaceFacts) {
        if facts.traits.contains(.isTunnel) { haveTunnels = true }
    }

    /// The facts about an interface; `nil` when it is gone, and where they were not fetched.
    func facts(aboutInterface index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        place(of: index, detail).map { known[$0].facts }
    }

    /// The traits of an interface; `nil` when it is gone.
    func traits(ofInterface index: UInt32, _ detail: QueryDetail) -> InterfaceTraits? {
        place(of: index, detail).map { known[$0].facts.traits }
    }

    private func place(of index: UInt32, _ detail: QueryDetail) -> Int? {
        let first = known.partitioningIndex { $0.facts.index >= index }
        return known[first...].prefix { $0.facts.index == index }.firstIndex { $0.suffices(for: detail) }
    }
}
