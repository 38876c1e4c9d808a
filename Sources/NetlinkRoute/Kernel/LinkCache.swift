// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import RoutingModel

/// What one connection knows of interfaces and rules, each dropped when the kernel notifies of a change of it.
///
/// The kernel notifies of a loss of carrier when it processes it, which on a plain network card can be up to a
/// second after the previous change: it marks the routes at that moment, and not before.
struct LinkCache {
    /// How many interfaces are cached.
    ///
    /// The kernel notifies of deletions, so the bound is never reached in practice.
    private static let limit = 4_096
    /// The facts of how many interfaces are cached, the newest.
    private static let factLimit = 64

    /// An interface and its sysfs attributes.
    private struct Entry {
        let link: Link
        /// Whether sysfs calls it a modem; `nil` where that was not looked up.
        var isModem: Bool?
    }

    /// The interfaces, by index.
    private var entries: [UInt32: Entry] = [:]
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

    /// Returns an interface.
    func link(_ index: UInt32) -> Link? {
        entries[index]?.link
    }

    /// Returns whether sysfs calls an interface a modem.
    func isModem(_ index: UInt32) -> Bool? {
        entries[index]?.isModem
    }

    /// Returns the facts about an interface, if they contain what is asked for.
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

    mutating func insert(_ link: Link) {
        if entries.count >= Self.limit { entries.removeAll() }
        entries[link.index] = Entry(link: link)
    }

    /// Stores the sysfs attributes of an interface that is in the cache.
    mutating func note(isModem: Bool, _ index: UInt32) {
        entries[index]?.isModem = isModem
    }

    /// Drops what notifications touch.
    mutating func drop(_ changes: cnl_query_changes) {
        generation += 1
        facts.removeAll(keepingCapacity: true)
        wireless = nil
        if changes.rules || changes.is_incomplete { hasRulesForSources = nil }
        guard !changes.is_incomplete else {
            entries.removeAll()
            return
        }
        withUnsafeBytes(of: changes.links) { bytes in
            for index in bytes.bindMemory(to: UInt32.self).prefix(Int(changes.link_count)) {
                entries[index] = nil
            }
        }
    }
}
