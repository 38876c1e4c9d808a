// SPDX-License-Identifier: Apache-2.0

/// The addresses that an answer depends on, each once; the first one is stored inline.
///
/// Almost always there is one, which needs no allocation.
struct SmallAddressSet: Hashable, Sendable {
    private(set) var first: IPAddress?
    private(set) var others: [IPAddress] = []

    /// Starts empty.
    init() {}

    /// Takes addresses that are all different.
    init(first: IPAddress?, others: [IPAddress]) {
        self.first = first
        self.others = others
    }

    var count: Int {
        first == nil ? 0 : 1 + others.count
    }

    /// All addresses, in the order in which they were added.
    var all: [IPAddress] {
        first.map { [$0] + others } ?? []
    }

    func contains(_ address: IPAddress) -> Bool {
        first == address || others.contains(address)
    }

    /// Adds an address that is not there yet; a path asks about the same ones for each interface.
    mutating func insert(_ address: IPAddress) {
        if first == nil {
            first = address
        } else if !contains(address) {
            others.append(address)
        }
    }

    func each(_ body: (IPAddress) -> Void) {
        if let first { body(first) }
        for address in others { body(address) }
    }
}
