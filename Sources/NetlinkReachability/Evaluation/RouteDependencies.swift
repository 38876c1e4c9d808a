// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What an answer depends on.
struct RouteDependencies: Hashable, Sendable {
    /// The addresses that the kernel was asked about.
    var addresses = SmallAddressSet()
    /// The shortest lifetime of a route among the answers, in ticks from now.
    var lifetime: Int32?

    /// Adds the lifetime of a route.
    mutating func note(lifetime other: Int32?) {
        if let other { lifetime = min(lifetime ?? other, other) }
    }

    /// Adds what another answer depends on.
    mutating func formUnion(_ other: RouteDependencies) {
        other.addresses.each { addresses.insert($0) }
        note(lifetime: other.lifetime)
    }
}

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
