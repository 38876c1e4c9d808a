// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What an answer depends on.
struct RouteDependencies: Sendable {
    /// The destinations of the queries.
    var addresses = SmallSet<IPAddress>()
    /// The shortest lifetime of a route among the answers, in ticks from now.
    var lifetime: Int32?
    /// What the next evaluation of an observation of evidence reads; `nil` for other queries.
    var memory: Box<EvidenceMemory>?
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
