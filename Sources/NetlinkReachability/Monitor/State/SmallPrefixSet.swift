// SPDX-License-Identifier: Apache-2.0

/// Some prefixes, each once.
///
/// There is almost always one, which takes no memory of its own and no hashing.
struct SmallPrefixSet: Sendable {
    private var first: IPPrefix?
    private var others: Set<IPPrefix> = []

    /// The number of prefixes.
    var count: Int {
        first == nil ? 0 : 1 + others.count
    }

    /// Adds a prefix, unless it is there.
    mutating func insert(_ prefix: IPPrefix) {
        guard let first else {
            self.first = prefix
            return
        }
        if prefix != first { others.insert(prefix) }
    }

    /// Calls the body with each.
    func each(_ body: (IPPrefix) -> Void) {
        if let first { body(first) }
        // To walk an empty set costs something too.
        if !others.isEmpty { for prefix in others { body(prefix) } }
    }
}
