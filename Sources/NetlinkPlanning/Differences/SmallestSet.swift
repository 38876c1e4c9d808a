// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import RoutingSimulation

/// Searches the smallest subset that has a property.
///
/// Of few elements, single ones are tried first, then pairs. Larger sets are found by halves (QuickXplain, Junker
/// 2004), and then reduced until no proper subset has the property.
enum SmallestSet {
    /// How many subsets are evaluated at most before the search ends.
    static let evaluationLimit = 600
    /// Above this size, skip testing single elements.
    ///
    /// If the whole list lacks the property, test only the first ones.
    private static let singleLimit = 64
    /// With more elements, pairs are not tried one by one.
    private static let pairLimit = 16
    /// A set of more elements is minimal, as none of them can be left out, and need not be the smallest.
    private static let subsetLimit = 8

    /// Finds the set.
    ///
    /// - Parameters:
    ///   - elements: The elements, the preferred ones first.
    ///   - limit: How many subsets are evaluated at most.
    ///   - hasProperty: Whether a set has the property. It need not hold for every larger set.
    /// - Returns: The set, how many sets were evaluated, and whether the search ended before it was done: the set then
    ///   has the property, and so may a part of it. The set is `nil` when neither the whole list nor one of the single
    ///   elements that were tried has the property.
    static func find<Element>(
        among elements: [Element],
        evaluations limit: Int = evaluationLimit,
        where hasProperty: ([Element]) -> Bool
    ) -> (set: [Element]?, evaluations: Int, isCut: Bool) {
        var known: [[Int]: Bool] = [:]
        var isCut = false
        let set = search(Array(elements.indices)) { indices in
            let indices = indices.sorted()
            if let result = known[indices] { return result }
            // Without further evaluations no smaller set is found.
            guard known.count < limit else {
                isCut = true
                return false
            }
            let result = hasProperty(indices.map { elements[$0] })
            known[indices] = result
            return result
        }
        return (set?.map { elements[$0] }, known.count, isCut)
    }

    private static func search(_ indices: [Int], _ hasProperty: ([Int]) -> Bool) -> [Int]? {
        if hasProperty([]) { return [] }
        guard hasProperty(indices) else {
            return subset(of: Array(indices.prefix(singleLimit)), count: 1, hasProperty)
        }
        for (count, limit) in [(1, singleLimit), (2, pairLimit)] where indices.count <= limit {
            if let found = subset(of: indices, count: count, hasProperty) { return found }
        }
        var reduced = reduce(indices, with: [], hasProperty)
        if reduced.count <= subsetLimit {
            for count in 1..<max(1, reduced.count) {
                if let found = subset(of: reduced, count: count, hasProperty) { return found }
            }
        } else {
            while let index = reduced.first(where: { index in hasProperty(reduced.filter { $0 != index }) }) {
                reduced.removeAll { $0 == index }
            }
        }
        return reduced
    }

    /// Finds the first subset of a size.
    private static func subset(of indices: [Int], count: Int, _ hasProperty: ([Int]) -> Bool) -> [Int]? {
        func search(_ chosen: [Int], from start: Int) -> [Int]? {
            if chosen.count == count { return hasProperty(chosen) ? chosen : nil }
            for index in start..<max(start, indices.count) {
                if let found = search(chosen + [indices[index]], from: index + 1) { return found }
            }
            return nil
        }
        return search([], from: 0)
    }

    /// Leaves out elements by halves.
    ///
    /// - Parameters:
    ///   - indices: Elements that have the property together with the others.
    ///   - others: What stays.
    ///   - haveChanged: Whether the others may have the property alone.
    ///   - hasProperty: Whether a set has the property.
    /// - Returns: Elements that still have the property together with the others.
    private static func reduce(
        _ indices: [Int],
        with others: [Int],
        haveChanged: Bool = false,
        _ hasProperty: ([Int]) -> Bool
    ) -> [Int] {
        if haveChanged, hasProperty(others) { return [] }
        guard indices.count > 1 else { return indices }
        let half = indices.count / 2
        let (first, second) = (Array(indices[..<half]), Array(indices[half...]))
        let kept = reduce(second, with: others + first, haveChanged: true, hasProperty)
        return reduce(first, with: others + kept, haveChanged: !kept.isEmpty, hasProperty) + kept
    }
}
