// SPDX-License-Identifier: Apache-2.0

/// What the monitor knows and has to do next: pure, without a clock and without asking anybody.
///
/// Whoever drives it tells what happened and when, does what ``advance(to:)`` returns, and tells how that ended.
/// The targets themselves are not known here, only their numbers.
struct MonitorState: Sendable {
    /// A target's number, from 1; never used twice.
    typealias ID = UInt64

    /// Something to be done.
    enum Action: Hashable, Sendable {
        /// Ask about these targets, and tell each answer with ``MonitorState/answered(_:_:at:)``.
        case ask([ID])
        /// Resolve a target's name elsewhere, and tell the end with
        /// ``MonitorState/resolved(_:generation:_:at:)``, once and whatever it is.
        case resolve(ID, generation: UInt32)
        /// Look which way the default path goes, and tell it with ``MonitorState/sawPath(_:at:)``.
        case lookAtPath
    }

    /// What came of a question about a target.
    enum Answer: Hashable, Sendable {
        /// It was answered.
        case flags(ReachabilityFlags, Basis)
        /// It could not be asked or answered: nothing is known anew.
        case failed
    }

    /// What an answer rests on.
    struct Basis: Hashable, Sendable {
        /// The addresses that the kernel was asked about.
        var asked: [IPAddress] = []
        /// The earliest end of a route's lifetime among the answers, in ticks from now.
        var lifetime: Int32?
    }

    /// What is known of a target, in few bytes: there can be a hundred thousand.
    struct Record: Sendable {
        private var high: UInt64 = 0
        private var low: UInt64 = 0
        private var expiryNanoseconds = Int64.max
        /// The addresses that the flags rest on, behind the first.
        var otherAsked: [IPAddress] = []
        private var flagBits: UInt32 = 0
        private var hasFlags = false
        private var family: IPAddress.Family?

        init(flags: ReachabilityFlags?) {
            self.flags = flags
        }

        /// The last flags; `nil` before the first answer.
        var flags: ReachabilityFlags? {
            get { hasFlags ? ReachabilityFlags(rawValue: flagBits) : nil }
            set { (hasFlags, flagBits) = (newValue != nil, newValue?.rawValue ?? 0) }
        }

        /// When a route that the flags rest on ends.
        var expiry: MonitorInstant? {
            get { expiryNanoseconds == .max ? nil : MonitorInstant(nanoseconds: expiryNanoseconds) }
            set { expiryNanoseconds = newValue?.nanoseconds ?? .max }
        }

        /// The first address that the flags rest on, and almost always the only one, without a zone.
        var firstAsked: IPAddress? {
            get {
                switch family {
                case .v4: IPAddress(v4: UInt32(truncatingIfNeeded: low))
                case .v6: IPAddress(v6High: high, low: low)
                case nil: nil
                }
            }
            set { (family, high, low) = (newValue?.family, newValue?.high ?? 0, newValue?.low ?? 0) }
        }
    }

    /// What is to be asked again once the burst allows.
    struct Pending: Sendable {
        var isAll = false
        var prefixes = SmallPrefixSet()
        var targets: Set<ID> = []
        /// When the first and the last event came; `nil` when there were none.
        var burst: (first: MonitorInstant, last: MonitorInstant)?
    }

    /// How many targets are asked about before somebody looks at the announcements again.
    static let chunk = 128
    /// How many prefixes are remembered before they are looked up.
    static let prefixLimit = 1_024

    var records: [ID: Record] = [:]
    var index = AddressIndex()
    var names = Names()
    var paths = Paths()
    /// Targets to be asked about now, the last one first.
    var pass: [ID] = []
    var pending = Pending()
    /// Whether somebody must look by the clock, because not everything is announced.
    var isPolling: Bool

    /// When a burst was last answered.
    var lastAnswer: MonitorInstant?
    var secondLookDue: MonitorInstant?
    var goingRoutes = PendingRouteRemovals()
    var routineDue: MonitorInstant?
    var overrun = Overrun()
    var failures = Failures()
    /// The earliest end of a route's lifetime, and when such were last looked for.
    var earliestExpiry: MonitorInstant?
    var lastExpiryScan: MonitorInstant?
    var polls: UInt64 = 0

    /// Starts without targets.
    ///
    /// - Parameter isPolling: Whether somebody must look by the clock.
    init(isPolling: Bool = false) {
        self.isPolling = isPolling
    }
}

// MARK: - Targets

extension MonitorState {
    /// Adds a target, to be asked about at once.
    ///
    /// - Parameters:
    ///   - id: Its number.
    ///   - isName: Whether it has to be resolved first.
    ///   - flags: What was found out and told about it already.
    ///   - now: The present.
    mutating func insert(
        _ id: ID,
        isName: Bool = false,
        flags: ReachabilityFlags? = nil,
        at now: MonitorInstant
    ) {
        if records.isEmpty { routineDue = now + routinePeriod }
        records[id] = Record(flags: flags)
        if isName {
            names.insert(id)
        } else {
            pass.append(id)
        }
    }

    /// Removes a target; what comes in about it later is ignored.
    mutating func remove(_ id: ID) {
        guard let record = records.removeValue(forKey: id) else { return }
        names.remove(id)
        paths.remove(id)
        failures.targets.remove(id)
        forget(record)
        if records.isEmpty {
            pass = []
            pending = Pending()
            goingRoutes = PendingRouteRemovals()
            (secondLookDue, routineDue, earliestExpiry) = (nil, nil, nil)
        }
    }

    /// Takes the end of a question in.
    ///
    /// - Returns: The flags to tell, when they are others than before.
    mutating func answered(_ id: ID, _ answer: Answer, at now: MonitorInstant) -> ReachabilityFlags? {
        guard var record = records[id] else { return nil }
        guard case .flags(let flags, let basis) = answer else {
            failures.note(id, at: now)
            return nil
        }
        let isNews = record.flags != flags
        record.flags = flags
        settle(id, &record, on: basis, at: now)
        return isNews ? flags : nil
    }

    /// Takes in that a question about a target was answered, and on what the answer rests.
    mutating func settle(_ id: ID, _ record: inout Record, on basis: Basis, at now: MonitorInstant) {
        failures.forget(id)
        record.expiry = basis.lifetime.flatMap { Self.expiry(ticks: $0, from: now) }
        if let expiry = record.expiry { earliestExpiry = min(earliestExpiry ?? expiry, expiry) }
        if !record.rests(on: basis.asked) { reindex(id, &record, basis.asked) }
        records[id] = record
    }

    /// Everything that was to be asked now has to wait: whoever answers does not answer in time.
    mutating func stall(_ rest: some Sequence<ID>, at now: MonitorInstant) {
        for id in rest where records[id] != nil { failures.note(id, at: now) }
        for id in pass where records[id] != nil { failures.note(id, at: now) }
        pass = []
    }

    private static func expiry(ticks: Int32, from now: MonitorInstant) -> MonitorInstant? {
        // A lifetime that is over already has done what it could.
        ticks > 0 ? now + (MonitorTiming.tick * Int(ticks) + MonitorTiming.expiryGrace) : nil
    }

    private mutating func reindex(_ id: ID, _ record: inout Record, _ asked: [IPAddress]) {
        let old = record
        record.firstAsked = asked.first
        record.otherAsked = Array(asked.dropFirst())
        for address in asked where !old.asks(about: address) { index.insert(address, of: id) }
        records[id] = record
        let unwanted = old.asked.count { !record.asks(about: $0) }
        noteRemoval(of: unwanted)
    }

    private mutating func forget(_ record: Record) {
        noteRemoval(of: record.asked.count)
    }

    private mutating func noteRemoval(of number: Int) {
        guard number > 0 else { return }
        index.noteRemoval(of: number) { [records] id, address in
            records[id]?.asks(about: address) ?? false
        }
    }
}

extension MonitorState.Record {
    /// The addresses that the flags rest on.
    var asked: [IPAddress] {
        firstAsked.map { [$0] + otherAsked } ?? []
    }

    func rests(on addresses: [IPAddress]) -> Bool {
        firstAsked == addresses.first && otherAsked.elementsEqual(addresses.dropFirst())
    }

    func asks(about address: IPAddress) -> Bool {
        firstAsked == address || otherAsked.contains(address)
    }
}
