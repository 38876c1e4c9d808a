// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel
internal import SystemSupport

/// The interfaces asked about so far, each dropped when the kernel notifies of a change of it.
///
/// A look at an empty event queue (a tenth of a microsecond) replaces a question about the interface (several,
/// and the kernel's big lock). Where the kernel refuses the groups, nothing is cached.
///
/// The kernel notifies of a loss of carrier when it processes it, which on a plain network card can be up to a
/// second after the previous change: it marks the routes at that moment, and not before.
final class LinkCache: Sendable {
    private let state = Locked(State())

    /// Listens in the calling thread's network namespace.
    init() {
        state.withLock { $0.listen() }
    }

    /// Returns a cached value, or finds it and caches it.
    ///
    /// A value that was found is not cached if a notification arrived meanwhile.
    ///
    /// - Parameters:
    ///   - read: Reads the value from the cache.
    ///   - find: Finds the value.
    ///   - store: Stores the value in the cache.
    /// - Returns: The cached or found value; `nil` when `find` returns `nil`.
    /// - Throws: The error of `find`.
    func value<Value: Sendable>(
        _ read: @Sendable (borrowing State) -> Value?,
        orFind find: () throws(RoutingFault) -> Value?,
        store: @Sendable (inout State, Value) -> Void
    ) throws(RoutingFault) -> Value? {
        let (known, generation) = state.withLock { state in
            state.catchUp()
            return (read(state), state.generation)
        }
        if let known { return known }
        guard let found = try find() else { return nil }
        state.withLock { state in
            if state.isCurrent(generation) { store(&state, found) }
        }
        return found
    }
}

extension LinkCache {
    struct State: ~Copyable {
        /// How many interfaces are cached.
        ///
        /// The kernel notifies of deletions, so the bound is never reached in practice.
        private static let limit = 4_096

        private var events: EventSocket?
        /// The interfaces.
        private(set) var links: [UInt32: Link] = [:]
        /// Whether sysfs calls an interface a modem; dropped with the interface.
        private(set) var modems: [UInt32: Bool] = [:]
        /// Dropped whole at every notification: facts can come from an interface below, or an address.
        var facts = FactSlots()
        /// The Wi-Fi interfaces, dropped likewise: they come and go, and change their mode, as links.
        var wireless: Set<UInt32>?
        /// Whether an IPv4 rule compares the source address; dropped with every notification of a rule.
        var hasRulesForSources: Bool?
        /// Counts notifications, so that a value found before one is not stored after it.
        fileprivate var generation: UInt64 = 0

        mutating func insert(_ link: Link) {
            if links.count >= Self.limit { links.removeAll() }
            links[link.index] = link
        }

        mutating func insert(isModem: Bool, _ index: UInt32) {
            if modems.count >= Self.limit { modems.removeAll() }
            modems[index] = isModem
        }

        fileprivate mutating func listen() {
            do {
                var events = try EventSocket()
                try events.join(.link)
                // The addresses of a dial-up link show whether it has dialled.
                try events.join(.ipv4Address)
                try events.join(.ipv4Rule)
                self.events = consume events
            } catch {
                events = nil
            }
        }

        /// Whether no notification arrived since a generation, and the next one will be seen.
        fileprivate mutating func isCurrent(_ generation: UInt64) -> Bool {
            catchUp()
            return events != nil && self.generation == generation
        }

        /// Reads the notifications and drops what they touch.
        fileprivate mutating func catchUp() {
            guard events != nil else { return }
            switch try? events?.poll() {
            case .empty: return
            case .changes: readAll()
            case .overrun:
                dropAll()
                readAll()
            case nil: giveUp()
            }
        }

        private mutating func readAll() {
            while true {
                var touched: [UInt32] = []
                var isRuleTouched = false
                let reading = try? events?.receive { message in
                    touched.append(message.touchedInterface)
                    if message.type == RTM_NEWRULE || message.type == RTM_DELRULE { isRuleTouched = true }
                }
                if isRuleTouched { hasRulesForSources = nil }
                switch reading {
                case .empty:
                    return
                case .changes:
                    for index in touched where index != 0 {
                        links[index] = nil
                        modems[index] = nil
                    }
                    dropFacts()
                case .overrun:
                    dropAll()
                case nil:
                    giveUp()
                    return
                }
            }
        }

        /// Sends every question to the kernel from now on, because the socket is broken.
        private mutating func giveUp() {
            events = nil
            dropAll()
        }

        private mutating func dropAll() {
            links.removeAll()
            modems.removeAll()
            hasRulesForSources = nil
            dropFacts()
        }

        private mutating func dropFacts() {
            generation += 1
            facts.removeAll()
            wireless = nil
        }
    }

    /// A small table without hashing: an interface's index selects its slot.
    struct FactSlots {
        private static let count = 64
        private var slots = [(facts: InterfaceFacts, detail: InterfaceDetail)?](repeating: nil, count: count)
        private var isEmpty = true

        /// Returns facts of at least this detail.
        func facts(_ index: UInt32, _ detail: InterfaceDetail) -> InterfaceFacts? {
            guard let slot = slots[Int(index) % Self.count], slot.facts.index == index,
                detail == .flags || slot.detail == .report
            else { return nil }
            return slot.facts
        }

        mutating func insert(_ facts: InterfaceFacts, _ detail: InterfaceDetail) {
            slots[Int(facts.index) % Self.count] = (facts, detail)
            isEmpty = false
        }

        fileprivate mutating func removeAll() {
            guard !isEmpty else { return }
            for place in slots.indices { slots[place] = nil }
            isEmpty = true
        }
    }
}

extension NetlinkMessage {
    /// The interface of a link message, which each form of it names in its header; 0 for other messages.
    fileprivate var touchedInterface: UInt32 {
        let place = RecordingFormat.headerLength + 4
        guard type == RTM_NEWLINK || type == RTM_DELLINK, bytes.count >= place + 4 else { return 0 }
        return bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
    }
}
