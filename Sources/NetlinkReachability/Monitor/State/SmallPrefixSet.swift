// SPDX-License-Identifier: Apache-2.0

/// A set of prefixes that stores the first one inline.
///
/// Almost always there is one, which needs neither an allocation nor hashing.
struct SmallPrefixSet: Sendable {
    private var first: IPPrefix?
    private var others: Set<IPPrefix> = []

    var count: Int {
        first == nil ? 0 : 1 + others.count
    }

    mutating func insert(_ prefix: IPPrefix) {
        guard let first else {
            self.first = prefix
            return
        }
        if prefix != first { others.insert(prefix) }
    }

    func each(_ body: (IPPrefix) -> Void) {
        if let first { body(first) }
        // Iterating over an empty set has a cost too.
        if !others.isEmpty { for prefix in others { body(prefix) } }
    }
}
