// SPDX-License-Identifier: Apache-2.0

/// A set that stores its first element inline.
///
/// Almost always there is one, which needs neither an allocation nor hashing.
struct SmallSet<Element: Hashable & Sendable>: Hashable, Sendable {
    private var first: Element?
    private var others: Set<Element> = []

    var count: Int {
        first == nil ? 0 : 1 + others.count
    }

    /// All elements.
    var all: [Element] {
        first.map { [$0] + others } ?? []
    }

    func contains(_ element: Element) -> Bool {
        first == element || others.contains(element)
    }

    mutating func insert(_ element: Element) {
        if first == nil {
            first = element
        } else if element != first {
            others.insert(element)
        }
    }

    func each(_ body: (Element) -> Void) {
        if let first { body(first) }
        // The iteration of an empty set hashes, too.
        if !others.isEmpty { for element in others { body(element) } }
    }
}
