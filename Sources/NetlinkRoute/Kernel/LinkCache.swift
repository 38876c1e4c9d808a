// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What one connection knows of interfaces and rules, each dropped when the kernel notifies of a change of it.
///
/// The kernel notifies of a loss of carrier when it processes it, which on a plain network card can be up to a
/// second after the previous change: it marks the routes at that moment, and not before.
struct LinkCache {
    /// The maximum number of interfaces in the cache; older ones are evicted.
    private static let factLimit = 64

    /// What is known of some interfaces.
    ///
    /// Dropped whole at every notification: facts can come from an interface below, or an address.
    private(set) var facts: [InterfaceReading] = []
    /// The Wi-Fi interfaces, dropped likewise: they come and go, and change their mode, as links.
    var wireless: Set<UInt32>?
    /// Whether an IPv4 rule compares the source address.
    var hasRulesForSources: Bool?
    /// Counts notifications, so that a value found before one is not stored after it.
    private(set) var generation: UInt64 = 0

    /// Returns the facts about an interface, if they have enough detail.
    func facts(_ index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        // Packets leave through few interfaces, so a search is as fast as a table.
        facts.first { $0.facts.index == index && $0.suffices(for: detail) }?.facts
    }

    /// Stores the facts about an interface.
    mutating func insert(_ facts: InterfaceFacts, _ detail: QueryDetail) {
        self.facts.removeAll { $0.facts.index == facts.index }
        if self.facts.count == Self.factLimit { self.facts.removeFirst() }
        self.facts.append(InterfaceReading(facts, detail))
    }

    /// Drops what notifications concern.
    mutating func drop(rules: Bool) {
        generation += 1
        facts.removeAll(keepingCapacity: true)
        wireless = nil
        if rules { hasRulesForSources = nil }
    }
}
