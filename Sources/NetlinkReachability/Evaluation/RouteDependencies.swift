// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What an answer depends on.
struct RouteDependencies: Sendable {
    /// The destinations of the queries.
    var addresses = SmallSet<IPAddress>()
    /// The shortest lifetime of a route among the answers, in ticks from now.
    var lifetime: Int32?
    /// The queries, each as one for an entry; none unless they are asked for.
    var queries: Set<RouteQuery> = []
    /// The facts about the host; none unless they are asked for.
    var host: HostReading = []
    /// What the next evaluation of an observation of evidence reads; `nil` for other queries.
    var memory: Box<EvidenceMemory>?
}

/// The facts about a host that an evaluation can read besides routes and their interfaces.
package struct HostReading: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Which interface has a name.
    package static let names = HostReading(rawValue: 1)
    /// All interfaces, addresses, rules or neighbours.
    package static let tables = HostReading(rawValue: 2)
}

extension RouteQuery {
    /// The query without what decides how much of an answer there is.
    var ofEntry: RouteQuery {
        var query = self
        (query.selectsNexthop, query.wantsEntry) = (false, false)
        return query
    }
}

/// A set that stores its first two elements inline.
///
/// Almost always there is one, or two for a connection, which need neither an allocation nor hashing.
struct SmallSet<Element: Hashable & Sendable>: Sendable {
    private var first: Element?
    /// `nil` as long as there is no first one.
    private var second: Element?
    private var others: Set<Element> = []

    var count: Int {
        (first == nil ? 0 : 1) + (second == nil ? 0 : 1) + others.count
    }

    /// All elements.
    var all: [Element] {
        [first, second].compactMap(\.self) + others
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
        // The iteration of an empty set hashes, too.
        if !others.isEmpty { others.forEach(body) }
    }
}
