// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The dependencies of an answer.
struct RouteDependencies: Sendable {
    /// The destinations of the queries.
    var addresses = SmallSet<IPAddress>()
    /// The shortest lifetime of the routes in the answers, in ticks from now.
    var lifetime: Int32?
    /// The queries in their form for entries; empty unless they are requested.
    var queries: Set<RouteQuery> = []
    /// The facts about the host; empty unless they are requested.
    var host: HostReading = []
    /// The evidence for the next evaluation of an observation; `nil` for other queries.
    var memory: Box<EvidenceMemory>?
}

/// The facts about a host that an evaluation can read, besides routes and their interfaces.
package struct HostReading: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The interface with a name.
    package static let names = HostReading(rawValue: 1)
    /// All interfaces, addresses, rules or neighbours.
    package static let tables = HostReading(rawValue: 2)
}

extension RouteQuery {
    /// The query without the properties that only affect the detail of the answer.
    var ofEntry: RouteQuery {
        with { ($0.selectsNexthop, $0.wantsEntry) = (false, false) }
    }
}

/// A set that stores its first two elements inline.
///
/// Nearly always there are at most two elements, which need neither an allocation nor hashing.
struct SmallSet<Element: Hashable & Sendable>: Sendable {
    private var first: Element?
    /// `nil` if there is no first element.
    private var second: Element?
    private var others: Set<Element> = []

    var count: Int {
        (first == nil ? 0 : 1) + (second == nil ? 0 : 1) + others.count
    }

    func contains(_ element: Element) -> Bool {
        first == element || second == element || others.contains(element)
    }

    mutating func insert(_ element: Element) {
        if first == nil {
            first = element
        } else if first != element, second == nil {
            second = element
        } else if !contains(element) {
            others.insert(element)
        }
    }

    func each(_ body: (Element) -> Void) {
        if let first { body(first) }
        if let second { body(second) }
        // Skipped for an empty set, whose iteration also hashes.
        if !others.isEmpty { others.forEach(body) }
    }
}
