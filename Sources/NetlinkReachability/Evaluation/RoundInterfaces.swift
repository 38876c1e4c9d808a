// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The facts about interfaces that a round knows.
struct RoundInterfaces {
    let facts: NetworkFacts
    /// The facts that came with the answers, the newest first, and then those that were fetched since.
    private var known: [InterfaceReading] = []

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// Answers lookups, and keeps the facts that come with the answers: a later one can be about the same interface.
    mutating func answer(_ lookups: inout [RouteLookup], from first: Int) throws(ReachabilityError) {
        let found = try facts.routing.answer(&lookups, from: first)
        known = known.isEmpty ? found : found + known
    }

    /// Returns the facts about an interface, those that came with the answers if there are any; `nil` when it is gone.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try reading(of: index, detail).map { known[$0].facts }
    }

    /// Returns the traits of an interface; `nil` when it is gone.
    mutating func traits(
        ofInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceTraits? {
        try reading(of: index, detail).map { known[$0].facts.traits }
    }

    private mutating func reading(
        of index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> Int? {
        let cached = known.firstIndex { $0.facts.index == index && $0.suffices(for: detail) }
        if let cached { return cached }
        guard let found = try facts.routing.facts(aboutInterface: index, detail: detail) else { return nil }
        known.append(InterfaceReading(found, detail))
        return known.count - 1
    }
}
