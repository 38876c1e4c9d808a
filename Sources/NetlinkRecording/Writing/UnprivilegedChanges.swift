// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// Selects which of the changes that need no privilege a recorder writes.
///
/// Any user creates neighbours by sending packets. Any host of a link creates neighbours, IPv6 addresses and IPv6
/// routes by answering and by announcing itself as a router. Changes that cannot affect an answer are omitted:
/// neighbours that are not gateways, equivalent states of a gateway, and prolonged lifetimes of addresses. In a
/// recording of limited size, the other changes have a budget. When it is used up, the recording states the tables
/// whose changes are omitted, and a dump follows when there is budget again.
struct UnprivilegedChanges {
    /// The state of a neighbour.
    private struct Entry {
        /// The present state; `nil` if the neighbour was removed.
        var state: NeighbourState?
        /// The state in the recording; `nil` if the recording does not have the neighbour.
        var recorded: NeighbourState?
        /// The last notification.
        var message: [UInt8] = []
    }

    /// The neighbours of the kernel, and those of the last dump.
    private var neighbours: [Neighbour.Key: Entry] = [:]
    /// The gateways of IPv4 default routes.
    ///
    /// If there are several, the choice depends on their states.
    private var rivals: Set<Neighbour.Key> = []
    /// The gateways of IPv6 routes, which are skipped while they do not answer.
    private var gateways: Set<Neighbour.Key> = []
    private var addresses: [Neighbour.Key: InterfaceAddress] = [:]
    private var budgets: [Cause: ChangeBudget]

    /// What has a budget.
    fileprivate enum Cause: CaseIterable {
        case neighbours, routers
        /// Dumps for lifetimes of routes: a router can announce arbitrarily short lifetimes.
        case lifetimes
        /// Evidence, whose verdict any user can change by connecting.
        case evidence
    }

    /// - Parameters:
    ///   - limit: The most bytes of the recording; `nil` for a recording without a limit, which has no budgets.
    ///   - now: The time.
    init(limit: UInt64? = nil, at now: ContinuousClock.Instant = .now) {
        budgets = Cause.allCases.reduce(into: [:]) { budgets, cause in
            budgets[cause] = ChangeBudget(limit.map { $0 / (cause == .lifetimes ? 8 : 64) }, at: now)
        }
    }

    /// When a dump has to record the omitted changes; `nil` if none are omitted.
    var dumpDue: ContinuousClock.Instant? { budgets.values.compactMap(\.dumpDue).min() }

    // MARK: Notifications

    /// Appends the part of a notification that the recording needs.
    mutating func append(
        _ message: NetlinkMessage,
        to bytes: inout [UInt8],
        at now: @autoclosure () -> ContinuousClock.Instant = .now
    ) {
        switch DumpRequest.Table(of: message) {
        case .neighbours:
            guard let key = update(message) else { return }
            append(key, to: &bytes, at: now())
        case .addresses, .routes, .nexthops:
            let change = learnt(from: message) ? message.change : nil
            if let change {
                // A neighbour that affects answers from now on: its state comes before the route.
                for key in learn(change) { append(key, to: &bytes, at: now()) }
                if isProlonged(change, message) { return }
                guard
                    !change.canBeRouters || message.port != 0
                        || spend(message.bytes.count, of: .routers, at: now(), to: &bytes)
                else { return }
            }
            bytes.appendPadded(message.bytes)
        default: bytes.appendPadded(message.bytes)
        }
    }

    /// Charges bytes to a budget, and states what is omitted from now on when it is used up.
    private mutating func spend(
        _ count: Int, of cause: Cause, at now: ContinuousClock.Instant, to bytes: inout [UInt8]
    ) -> Bool {
        budgets[cause]?.spend(count, at: now) { bytes.append(cause.omission) } ?? true
    }

    /// Charges a dump that shows whether a router has prolonged its routes; returns whether the budget allows it.
    ///
    /// When the budget is used up, appends an annotation.
    mutating func chargeDump(to bytes: inout [UInt8], at now: ContinuousClock.Instant = .now) -> Bool {
        spend(budgets[.lifetimes]?.dumpSize ?? 0, of: .lifetimes, at: now, to: &bytes)
    }

    /// Appends a change of the evidence.
    mutating func append(
        _ evidence: NetworkEvidence,
        to bytes: inout [UInt8],
        at now: ContinuousClock.Instant = .now
    ) {
        var statement: [UInt8] = []
        statement.append(.evidence(evidence))
        if spend(statement.count, of: .evidence, at: now, to: &bytes) { bytes += statement }
    }

    // MARK: Neighbours

    /// Updates a neighbour by a notification.
    ///
    /// Returns the neighbour; `nil` for another kind of entry.
    private mutating func update(_ message: NetlinkMessage) -> Neighbour.Key? {
        switch message.change {
        case .neighbour(let neighbour):
            neighbours[neighbour.key, default: Entry()].state = neighbour.state
            neighbours[neighbour.key]?.message = Array(message.bytes)
            return neighbour.key
        case .removedNeighbour(let key): return remove(key, Array(message.bytes)) ? key : nil
        default: return nil
        }
    }

    /// Removes a neighbour; returns whether the recording has it.
    private mutating func remove(_ key: Neighbour.Key, _ message: [UInt8]) -> Bool {
        let recorded = neighbours[key]?.recorded
        neighbours[key] = recorded.map { Entry(recorded: $0, message: message) }
        return recorded != nil
    }

    /// Appends the last notification about a neighbour, if it makes a difference.
    private mutating func append(
        _ key: Neighbour.Key,
        to bytes: inout [UInt8],
        at now: @autoclosure () -> ContinuousClock.Instant = .now
    ) {
        guard let entry = neighbours[key], !entry.message.isEmpty,
            standing(entry.state, of: key) != standing(entry.recorded, of: key)
        else { return }
        guard spend(entry.message.count, of: .neighbours, at: now(), to: &bytes) else { return }
        entry.message.withUnsafeBytes { bytes.appendPadded($0) }
        neighbours[key] = entry.state.map { Entry(state: $0, recorded: $0) }
    }

    /// The meaning of a neighbour's state for routes through this gateway; `nil` if it has no meaning.
    private func standing(_ state: NeighbourState?, of key: Neighbour.Key) -> NeighbourState? {
        let isRival = rivals.count > 1 && rivals.contains(key)
        guard isRival || gateways.contains(key) else { return nil }
        // The kernel assumes that an unknown neighbour answers.
        guard let state, state != .reachable else { return .reachable }
        guard isRival else { return state.contains(.failed) ? .failed : .reachable }
        return state.isDisjoint(with: .valid) ? state : .stale
    }

    /// Records the gateways of a change.
    ///
    /// Returns the neighbours that affect answers only from now on.
    private mutating func learn(_ change: NetworkChange) -> [Neighbour.Key] {
        var found: [Neighbour.Key] = []
        func add(_ nexthops: [Nexthop], to keys: inout Set<Neighbour.Key>) {
            for key in nexthops.compactMap(\.neighbour) where keys.insert(key).inserted { found.append(key) }
        }
        let rivalCount = rivals.count
        switch change {
        case .route(let route, _) where route.destination.family == .v4: add(route.nexthops, to: &rivals)
        case .route(let route, _): add(route.nexthops, to: &gateways)
        case .nexthop(let object):
            guard case .single(let nexthop) = object.kind else { break }
            add([nexthop], to: &rivals)
            add([nexthop], to: &gateways)
        default: break
        }
        return rivalCount == 1 && rivals.count > 1 ? found + rivals : found
    }

    /// Whether a message can contain a gateway that affects answers, or can come from a router.
    ///
    /// Other messages are not parsed: there can be a million IPv4 routes.
    private func learnt(from message: NetlinkMessage) -> Bool {
        guard DumpRequest.Table(of: message) == .routes, message.family == IPAddress.Family.v4.rawValue
        else { return true }
        // `rtm_dst_len` of `struct rtmsg`: only for default routes does the choice depend on gateways.
        let place = NetlinkMessage.headerLength + 1
        return message.bytes.count > place && message.bytes[place] == 0
    }

    // MARK: Addresses

    /// Whether a notification only prolongs the lifetime of an address.
    private mutating func isProlonged(_ change: NetworkChange, _ message: NetlinkMessage) -> Bool {
        switch change {
        case .address(let address):
            let before = addresses.updateValue(address, forKey: Self.key(address))
            return before == address && message.port == 0
        case .removedAddress(let address):
            addresses[Self.key(address)] = nil
            return false
        default: return false
        }
    }

    private static func key(_ address: InterfaceAddress) -> Neighbour.Key {
        Neighbour.Key(interfaceIndex: address.interfaceIndex, address: address.address)
    }

    // MARK: Dumps

    /// Forgets the state in the recording, because a dump replaces it.
    mutating func dumpBegins() {
        (neighbours, rivals, gateways, addresses) = ([:], [], [], [:])
        for cause in Cause.allCases { budgets[cause]?.dumpBegins() }
    }

    /// Processes a complete dump, and appends the changes from notifications during the dump.
    mutating func dumpEnded(_ tables: [RecordedTable], to bytes: inout [UInt8]) {
        let size = tables.reduce(0) { $0 + $1.messages.count }
        for cause in Cause.allCases { budgets[cause]?.dumpSize = size }
        for table in tables {
            switch table.table {
            case .addresses, .routes, .nexthops:
                table.forEachMessage { message in
                    guard learnt(from: message), let change = message.change else { return }
                    _ = learn(change)
                    guard case .address(let address) = change else { return }
                    addresses[Self.key(address)] = addresses[Self.key(address)] ?? address
                }
            case .neighbours:
                table.forEachMessage { message in
                    guard case .neighbour(let neighbour)? = message.change else { return }
                    neighbours[neighbour.key, default: Entry(state: neighbour.state)].recorded =
                        neighbour.state
                }
            case .links, .rules, .settings: break
            }
        }
        for key in rivals.union(gateways) { append(key, to: &bytes) }
    }

    /// Processes dumps of the neighbours after their notifications were lost, and appends the changes.
    mutating func neighboursDumped(_ tables: [RecordedTable], to bytes: inout [UInt8]) {
        var gone = Set(neighbours.keys)
        for table in tables {
            table.forEachMessage { message in
                guard let key = update(message) else { return }
                gone.remove(key)
                neighbours[key]?.message.clearFlags()
                append(key, to: &bytes)
            }
        }
        for key in gone where remove(key, .removal(of: key)) { append(key, to: &bytes) }
    }
}

extension UnprivilegedChanges.Cause {
    /// The annotation that states what is omitted.
    fileprivate var omission: RecordingAnnotation {
        switch self {
        case .neighbours: .changingTables(IPAddress.Family.allCases.map { .init(.neighbours, family: $0) })
        case .routers: .changingTables([.init(.addresses, family: .v6), .init(.routes, family: .v6)])
        case .lifetimes: .changingTables([.init(.routes, family: .v6)])
        case .evidence: .evidence(nil)
        }
    }
}

extension NetworkChange {
    /// Whether a router on the link can have announced it: an IPv6 address or route beyond the link.
    fileprivate var canBeRouters: Bool {
        switch self {
        case .address(let address), .removedAddress(let address):
            address.address.family == .v6 && !address.address.isLinkScoped
                && !address.flags.contains(.permanent)
        case .route(let route, _), .removedRoute(let route):
            route.destination.family == .v6 && !route.destination.address.isLinkScoped
                && route.mayBeProlonged
        default: false
        }
    }
}

extension [UInt8] {
    /// The notification that a neighbour was removed (RTM_DELNEIGH).
    fileprivate static func removal(of key: Neighbour.Key) -> [UInt8] {
        let address = key.address.networkBytes
        // `struct ndmsg`, and the address (NDA_DST) with the 4 bytes of its attribute.
        var payload: [UInt8] = [key.address.family.rawValue, 0, 0, 0]
        payload += key.interfaceIndex.hostBytes + [0, 0, 0, 0]
        payload += UInt16(4 + address.count).hostBytes + UInt16(1).hostBytes + address
        var bytes: [UInt8] = []
        bytes.appendMessage(type: 29, payload: payload)
        return bytes
    }

    /// Turns a message of a dump into a notification: the flags of the header become 0.
    fileprivate mutating func clearFlags() {
        replaceSubrange(6..<8, with: [0, 0])
    }
}

// MARK: - The budget

/// The number of bytes that unprivileged changes can add to a recording: an initial amount, and the same amount per
/// day.
struct ChangeBudget {
    /// The size of a message's time stamp, in bytes.
    private static let stamp = 24

    /// The most bytes at once; `nil` for no limit.
    private let capacity: Double?
    private var rest: Double
    private var last: ContinuousClock.Instant
    /// The size of a dump, which is charged to the budget if the dump records omitted changes.
    var dumpSize = 0
    /// When the budget allows a dump; `nil` if no changes are omitted.
    private(set) var dumpDue: ContinuousClock.Instant?

    init(_ capacity: UInt64?, at now: ContinuousClock.Instant) {
        self.capacity = capacity.map { Double($0) }
        (rest, last) = (self.capacity ?? 0, now)
    }

    /// Charges the bytes of a message to the budget.
    ///
    /// - Parameters:
    ///   - count: The bytes.
    ///   - now: The time.
    ///   - state: Called for the first message since the last dump that is left out.
    /// - Returns: Whether the message is written.
    mutating func spend(_ count: Int, at now: ContinuousClock.Instant, _ state: () -> Void) -> Bool {
        guard let capacity else { return true }
        guard dumpDue == nil else { return false }
        let rate = capacity / 86_400
        rest = min(capacity, rest + rate * (last.duration(to: now) / .seconds(1)))
        last = now
        rest -= Double(count + Self.stamp)
        guard rest < 0 else { return true }
        dumpDue = now + .seconds(min(max(1, (Double(dumpSize) - rest) / rate), 1e9))
        state()
        return false
    }

    /// Charges the dump to the budget if it records omitted changes.
    mutating func dumpBegins() {
        guard dumpDue != nil else { return }
        dumpDue = nil
        rest -= Double(dumpSize)
    }
}
