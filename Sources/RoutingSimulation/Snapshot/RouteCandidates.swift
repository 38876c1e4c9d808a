// SPDX-License-Identifier: Apache-2.0

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
