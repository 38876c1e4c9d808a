// SPDX-License-Identifier: Apache-2.0

/// Searches the smallest subset that has a property.
///
/// Of few elements, single ones are tried first, then pairs. Larger sets are found by delta debugging (Zeller and
/// Hildebrandt, 2002), and then reduced until no proper subset has the property.
enum SmallestSet {
    /// How many subsets are evaluated at most before the search ends.
    static let evaluationLimit = 600
    /// With more elements, single ones are not tried one by one.
    private static let singleLimit = 64
    /// With more elements, pairs are not tried one by one.
    private static let pairLimit = 16
    /// A larger set is not reduced subset by subset; no element can be left out of it.
    private static let subsetLimit = 10

    /// Finds the set.
    ///
    /// - Parameters:
    ///   - elements: The elements, the preferred ones first.
    ///   - hasProperty: Whether a set has the property. It need not hold for every larger set.
    /// - Returns: The set, how many sets were evaluated, and whether the search ended before it was done: the set then
    ///   has the property, and so may a part of it. The set is `nil` when neither the whole list nor one of the single
    ///   elements that were tried has the property.
    static func find<Element>(
        among elements: [Element],
        where hasProperty: ([Element]) -> Bool
    ) -> (set: [Element]?, evaluations: Int, isCut: Bool) {
        var evaluations = 0
        var isCut = false
        let set = search(elements) { subset in
            // Without further evaluations no smaller set is found.
            guard evaluations < evaluationLimit else {
                isCut = true
                return false
            }
            evaluations += 1
            return hasProperty(subset)
        }
        return (set, evaluations, isCut)
    }

    private static func search<Element>(
        _ elements: [Element],
        _ hasProperty: ([Element]) -> Bool
    ) -> [Element]? {
        if hasProperty([]) { return [] }
        guard hasProperty(elements) else { return subset(of: elements, count: 1, hasProperty) }
        for (count, limit) in [(1, singleLimit), (2, pairLimit)] where elements.count <= limit {
            if let found = subset(of: elements, count: count, hasProperty) { return found }
        }
        let reduced = reduce(elements, hasProperty)
        guard reduced.count <= subsetLimit else { return reduced }
        for count in 1..<max(1, reduced.count) {
            if let found = subset(of: reduced, count: count, hasProperty) { return found }
        }
        return reduced
    }

    /// Finds the first subset of a size, in the order of the elements.
    private static func subset<Element>(
        of elements: [Element],
        count: Int,
        _ hasProperty: ([Element]) -> Bool
    ) -> [Element]? {
        func search(_ chosen: [Element], from start: Int) -> [Element]? {
            if chosen.count == count { return hasProperty(chosen) ? chosen : nil }
            for place in start..<max(start, elements.count) {
                if let found = search(chosen + [elements[place]], from: place + 1) { return found }
            }
            return nil
        }
        return search([], from: 0)
    }

    /// Delta debugging: leaves out larger and then smaller parts, until no element can be left out.
    private static func reduce<Element>(
        _ elements: [Element],
        _ hasProperty: ([Element]) -> Bool
    ) -> [Element] {
        var rest = elements
        var parts = 2
        while rest.count > 1 {
            let size = (rest.count + parts - 1) / parts
            let bounds = stride(from: 0, to: rest.count, by: size).map { $0..<min($0 + size, rest.count) }
            if let part = bounds.first(where: { hasProperty(Array(rest[$0])) }) {
                rest = Array(rest[part])
                parts = 2
            } else if let part = bounds.first(where: { hasProperty(rest.without($0)) }) {
                rest = rest.without(part)
                parts = max(parts - 1, 2)
            } else if size == 1 {
                return rest
            } else {
                parts = min(parts * 2, rest.count)
            }
        }
        return rest
    }
}

extension Array {
    fileprivate func without(_ range: Range<Int>) -> [Element] {
        Array(self[..<range.lowerBound] + self[range.upperBound...])
    }
}
