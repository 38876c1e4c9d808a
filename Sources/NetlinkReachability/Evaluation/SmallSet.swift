// SPDX-License-Identifier: Apache-2.0

/// A set of few elements, the first of which is stored inline.
///
/// Almost always there is one, which needs no allocation. The others are searched one by one.
struct SmallSet<Element: Equatable & Sendable>: Sendable {
    private var first: Element?
    private var others: [Element] = []

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
        } else if !contains(element) {
            others.append(element)
        }
    }

    func each(_ body: (Element) -> Void) {
        if let first { body(first) }
        others.forEach(body)
    }
}
