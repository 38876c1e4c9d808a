// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel
internal import SystemSupport

/// The interfaces asked about so far, each forgotten as soon as the kernel announces a change of it.
///
/// One look at an empty event queue (a tenth of a microsecond) stands for a question about the interface
/// (several, and the kernel's big lock). Where the kernel refuses the groups, nothing is kept.
///
/// The kernel announces a loss of carrier when it takes notice of it itself, which on a plain network card can
/// be up to a second after the last change: its routes are marked at that moment, and not before.
final class LinkCache: Sendable {
    /// An interface and what sysfs says of it.
    struct Entry: Sendable {
        var link: Link
        var isCellularDevice: Bool
    }

    /// How many interfaces are kept.
    ///
    /// The kernel announces deletions too, so this bound is never met in practice; it keeps the table finite
    /// all the same.
    private static let limit = 4_096

    private let state = Locked(State())

    /// Starts to listen in the calling thread's network namespace.
    init() {
        state.withLock { $0.listen() }
    }

    /// What is known of an interface, and the generation with which ``keep(_:generation:)`` may store it.
    func entry(_ index: UInt32) -> (entry: Entry?, generation: UInt64) {
        state.withLock { state in
            state.catchUp()
            return (state.entries[index], state.generation)
        }
    }

    /// How the rules read an interface, and the generation with which it may be stored.
    func traits(_ index: UInt32) -> (traits: InterfaceTraits?, generation: UInt64) {
        state.withLock { state in
            state.catchUp()
            return (state.traits[index], state.generation)
        }
    }

    /// The Wi-Fi interfaces, and the generation with which they may be stored.
    func wireless() -> (indexes: Set<UInt32>?, generation: UInt64) {
        state.withLock { state in
            state.catchUp()
            return (state.wireless, state.generation)
        }
    }

    /// All that a report shows of an interface, and the generation with which it may be stored.
    func facts(_ index: UInt32) -> (facts: InterfaceFacts?, generation: UInt64) {
        state.withLock { state in
            state.catchUp()
            return (state.facts[index], state.generation)
        }
    }

    /// Stores all that a report shows of an interface, unless something was announced meanwhile.
    func keep(_ facts: InterfaceFacts, generation: UInt64) {
        state.withLock { state in
            guard state.isCurrent(generation) else { return }
            if state.facts.count >= Self.limit { state.facts.removeAll() }
            state.facts[facts.link.index] = facts
        }
    }

    /// Stores which interfaces are Wi-Fi, unless something was announced meanwhile.
    func keep(wireless indexes: Set<UInt32>, generation: UInt64) {
        state.withLock { state in
            guard state.isCurrent(generation) else { return }
            state.wireless = indexes
        }
    }

    /// Stores what was found out, unless something was announced meanwhile.
    func keep(_ entry: Entry, generation: UInt64) {
        state.withLock { state in
            guard state.isCurrent(generation) else { return }
            if state.entries.count >= Self.limit { state.entries.removeAll() }
            state.entries[entry.link.index] = entry
        }
    }

    /// Stores how the rules read an interface, unless something was announced meanwhile.
    func keep(_ traits: InterfaceTraits, of index: UInt32, generation: UInt64) {
        state.withLock { state in
            guard state.isCurrent(generation) else { return }
            state.traits[index] = traits
        }
    }
}

extension LinkCache {
    private struct State: ~Copyable {
        var events: EventSocket?
        var entries: [UInt32: Entry] = [:]
        /// Forgotten whole at every announcement: a trait can come from an interface below, or an address.
        var traits = TraitSlots()
        /// What reports show, forgotten likewise.
        var facts: [UInt32: InterfaceFacts] = [:]
        /// The Wi-Fi interfaces, forgotten likewise: they come and go, and change their mode, as links.
        var wireless: Set<UInt32>?
        /// Moves on with every announcement, so that an answer asked for before it is not kept after it.
        var generation: UInt64 = 0

        mutating func listen() {
            do {
                var events = try EventSocket()
                try events.join(.link)
                // The addresses of a dial-up link tell whether it has dialled yet.
                try events.join(.ipv4Address)
                self.events = consume events
            } catch {
                events = nil
            }
        }

        /// Whether nothing was announced since a generation, and will be if something happens.
        mutating func isCurrent(_ generation: UInt64) -> Bool {
            catchUp()
            return events != nil && self.generation == generation
        }

        /// Reads what the kernel announced and forgets what it touches.
        mutating func catchUp() {
            guard events != nil else { return }
            switch try? events?.look() {
            case .empty: return
            case .messages: readAll()
            case .overrun:
                forgetAll()
                readAll()
            case nil: giveUp()
            }
        }

        private mutating func readAll() {
            while true {
                var touched: [UInt32] = []
                switch try? events?.receive({ touched.append($0.touchedInterface) }) {
                case .empty:
                    return
                case .messages:
                    for index in touched where index != 0 { entries[index] = nil }
                    forgetTraits()
                case .overrun:
                    forgetAll()
                case nil:
                    giveUp()
                    return
                }
            }
        }

        /// The socket is broken: from now on every question goes to the kernel.
        private mutating func giveUp() {
            events = nil
            forgetAll()
        }

        private mutating func forgetAll() {
            entries.removeAll()
            forgetTraits()
        }

        private mutating func forgetTraits() {
            generation += 1
            traits.removeAll()
            facts.removeAll()
            wireless = nil
        }
    }

    /// A small table without hashing: an interface's index names its slot.
    private struct TraitSlots {
        private static let count = 64
        private var slots = [(index: UInt32, traits: InterfaceTraits)](repeating: (0, []), count: count)
        private var isEmpty = true

        subscript(index: UInt32) -> InterfaceTraits? {
            get {
                let slot = slots[Int(index) % Self.count]
                return slot.index == index && index != 0 ? slot.traits : nil
            }
            set {
                guard let newValue else { return }
                slots[Int(index) % Self.count] = (index, newValue)
                isEmpty = false
            }
        }

        mutating func removeAll() {
            guard !isEmpty else { return }
            for place in slots.indices { slots[place] = (0, []) }
            isEmpty = true
        }
    }
}

extension NetlinkMessage {
    /// The interface that a link message is about; 0 for other messages.
    fileprivate var touchedInterface: UInt32 {
        switch content {
        case .link(let message), .removedLink(let message): message.link.index
        default: 0
        }
    }
}
