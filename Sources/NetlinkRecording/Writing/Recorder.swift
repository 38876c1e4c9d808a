// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
package import RoutingModel

/// Records the calling thread's network namespace.
///
/// A dump is not atomic: entries that change during it can be missing or duplicate, and only some dumps report this
/// (an IPv6 route dump does not, on Linux 6.18). The recorder therefore receives notifications during the dump, and
/// repeats each table that a notification may have affected, at most five times. A table that still changes is stored
/// and marked.
///
/// The recorder keeps a dump in memory until it is complete. It needs no privilege.
package struct Recorder: ~Copyable {
    /// The most attempts to dump a table.
    static let attempts = QuerySocket.dumpLimit
    /// The most bytes of notifications that are stored during a dump.
    ///
    /// Further notifications count as lost.
    private static let pendingLimit = 4 << 20
    /// The most bytes of queued notifications with which owners of ports are still looked up.
    private static let lookupLimit = pendingLimit / 4
    /// How long notifications can wait for the owners of their ports before they are written.
    private static let lookupWait = Duration.milliseconds(400)
    /// The most datagrams that are read at once: during continuous changes, the queue never becomes empty.
    private static let burstLimit = 4_096

    private var queries: QuerySocket
    /// The socket for notifications during and after dumps; `nil` if a sandbox refuses it.
    var events: EventSocket?
    /// A separate socket for notifications of neighbours, so that their number causes no loss of others.
    private var neighbourEvents: EventSocket?
    /// The descriptors that are readable when there are notifications; empty if notifications are refused.
    private(set) var eventDescriptors: [Int32]
    /// The evidence about the default path; `nil` if it is not recorded.
    private var evidence: EvidenceWatch?
    /// Time stamps and notifications since the last dump.
    private(set) var pending: [UInt8] = []
    /// When the queue of notifications was last empty.
    var lastLook = SuspendingClock.now
    /// The longest time without reading that is not stated: the times of notifications in it are not known.
    static let longestStall = Duration.seconds(1)
    /// The summary of the present recording.
    var summary = RecordingSummary()
    /// Whether notifications were lost during a dump.
    var hasLost = false
    /// The clock of the time stamps.
    var clock: RecorderClock
    /// When routers may have prolonged routes.
    var lifetimes = LifetimeSchedule()
    /// Selects which changes that need no privilege are written.
    var unprivileged = UnprivilegedChanges()
    /// Finds the owners of the ports of notifications.
    var ports = PortLookup()
    /// Why not all notification groups were joined; `nil` if all were joined.
    let watchError: ReachabilityError?

    /// Opens the sockets, which stay in the calling thread's network namespace.
    ///
    /// - Parameters:
    ///   - eventBuffer: The receive buffer to request for notifications, in bytes.
    ///   - neighbours: Whether to receive notifications of neighbours.
    ///   - clock: Reads the host's clocks.
    /// - Throws: An error if no socket for requests can be opened. Notifications are optional.
    package init(
        eventBuffer: UInt32 = 8 << 20,
        neighbours: Bool = true,
        clock: @escaping @Sendable () -> ClockReading = { .now }
    ) throws(ReachabilityError) {
        queries = try QuerySocket()
        self.clock = RecorderClock(clock)
        do {
            let socket = try EventSocket()
            _ = try socket.setBuffer(bytes: eventBuffer)
            for group in EventGroup.monitored { try socket.join(group) }
            var descriptors = [socket.descriptor]
            events = consume socket
            if neighbours {
                let socket = try EventSocket()
                _ = try socket.setBuffer(bytes: eventBuffer)
                try socket.join(.neighbour)
                descriptors.append(socket.descriptor)
                neighbourEvents = consume socket
            }
            eventDescriptors = descriptors
            watchError = nil
        } catch {
            events = nil
            neighbourEvents = nil
            eventDescriptors = []
            watchError = error
        }
    }

    /// Also records whether anything answers on the default path, from now on.
    ///
    /// - Throws: An error if the connections of the host cannot be observed.
    package mutating func watchEvidence() throws(ReachabilityError) {
        let watch = try EvidenceWatch()
        if !eventDescriptors.isEmpty { eventDescriptors.append(watch.descriptor) }
        evidence = watch
    }

    /// Adds the evidence to the notifications that are not written yet, if its verdict has changed.
    mutating func recordEvidence() {
        let now = clock.now
        guard let change = evidence?.takeChange(at: now) else { return }
        pending.appendStamped(now) { unprivileged.append(change, to: &$0) }
    }

    /// Dumps all tables, and repeats tables that changed meanwhile.
    ///
    /// - Parameter drop: Called with notifications whose changes the dump includes.
    /// - Returns: The dump.
    /// - Throws: An error if the kernel refuses a dump.
    package mutating func takeSnapshot(
        _ drop: ([UInt8]) -> Void = { _ in }
    ) throws(ReachabilityError) -> RecordedSnapshot {
        lifetimes.forget()
        var tables = RecordedTable.all
        var stale = Set(tables.indices)
        for attempt in 0..<Self.attempts where !stale.isEmpty {
            // Changes during this pause need no further dump.
            if attempt > 0 { usleep(5_000 << UInt32(attempt)) }
            stale.formUnion(try collectEvents(tables))
            drop(drainPending())
            unprivileged.dumpBegins()
            // The dump can begin a new file, which is read without earlier statements.
            ports.stateAgain()
            for index in stale.sorted() {
                tables[index] = try dump(tables[index])
            }
            stale = stale.filter { tables[$0].state == .changing }
            stale.formUnion(try collectEvents(tables))
        }
        for index in stale {
            if case .missing = tables[index].state { continue }
            tables[index].state = .changing
        }
        for table in tables where table.table == .routes && table.family == .v6 {
            table.forEachMessage { lifetimes.record($0, at: .now) }
        }
        pending.appendStamped(clock.now) { unprivileged.dumpEnded(tables, to: &$0) }
        lifetimes.dumpEnded(bytes: tables.reduce(0) { $0 + $1.messages.count }, at: .now)
        return RecordedSnapshot(
            clock: clock.reading,
            wirelessInterfaces: ((try? DeviceFacts.wirelessIndexes()) ?? []).sorted(),
            cellularInterfaces: tables.first?.cellularInterfaces ?? [],
            settingsOfAll: .sysctlsOfAll,
            evidence: evidence?.state(at: clock.now),
            isWatched: watchError == nil,
            tables: tables
        )
    }

    private mutating func dump(_ known: RecordedTable) throws(ReachabilityError) -> RecordedTable {
        var dumped = RecordedTable(known.table, known.family)
        do {
            let request = DumpRequest(known.table, family: known.family)
            let isInterrupted = try queries.dump(request) { dumped.keep($0) }
            dumped.state = isInterrupted ? .changing : .consistent
        } catch {
            // After a failure, answers could still arrive on the old socket.
            queries = try QuerySocket()
            dumped = RecordedTable(known.table, known.family)
            guard dumped.accepts(refusal: error.number) else { throw error }
        }
        return dumped
    }

    // MARK: - Events

    /// When the recording needs another dump; `nil` for never.
    var dumpDue: ContinuousClock.Instant? { [lifetimes.due, unprivileged.dumpDue].compactMap(\.self).min() }

    /// Reads the queued notifications into ``pending``, and returns the tables that they may affect.
    private mutating func collectEvents(_ tables: [RecordedTable]) throws(ReachabilityError) -> Set<Int> {
        var touched: Set<Int> = []
        let reading = try readEvents { message in
            touched.formUnion(tables.indices.filter { tables[$0].mayDiffer(after: message) })
        }
        if reading == .overrun { hasLost = true }
        return reading == .empty ? touched : Set(tables.indices)
    }

    /// Reads all queued notifications into ``pending``, each after its time stamp.
    ///
    /// The owners of their ports come before them. A lookup begins when the queue is empty, because it takes time.
    /// Notifications that arrive meanwhile are also read.
    ///
    /// - Returns: ``FeedReading/changes`` if the queue is not empty yet.
    mutating func readEvents(_ look: (NetlinkMessage) -> Void = { _ in }) throws(ReachabilityError)
        -> FeedReading
    {
        var (place, ports) = (pending.count, Set<UInt32>())
        var reading = try receiveEvents(&ports, look)
        var (lookup, limit, failure) = (self.ports, PortLookup.limit, ReachabilityError?.none)
        defer { self.ports = lookup }
        let end = ContinuousClock.now + Self.lookupWait
        while reading != .overrun, failure == nil, !ports.isEmpty {
            let (next, known) = (pending.count, ports.sorted())
            ports = []
            var statements: [UInt8] = []
            for statement in lookup.statements(
                about: known, within: &limit,
                attending: {
                    do throws(ReachabilityError) {
                        reading = try receiveEvents(&ports, look)
                    } catch { failure = error }
                    return reading == .empty && failure == nil && pending.count < Self.lookupLimit
                        && .now < end
                })
            { statements.append(statement) }
            pending.insert(contentsOf: statements, at: place)
            place = next + statements.count
            if .now >= end { limit = .zero }
        }
        if let failure { throw failure }
        return reading
    }

    /// Reads all queued notifications into ``pending``, and collects the ports that requested their changes.
    ///
    /// - Returns: ``FeedReading/changes`` if the queue is not empty yet.
    private mutating func receiveEvents(
        _ ports: inout Set<UInt32>,
        _ look: (NetlinkMessage) -> Void
    ) throws(ReachabilityError) -> FeedReading {
        guard events != nil else { return .empty }
        try readNeighbours(look)
        var isOverrun = false
        var lifetimes = lifetimes
        var changes = UnprivilegedChanges()
        swap(&changes, &unprivileged)
        defer {
            self.lifetimes = lifetimes
            swap(&changes, &unprivileged)
        }
        for _ in 0..<Self.burstLimit {
            var batch: [UInt8] = []
            let now = clock.now
            let reading = try events?.receive { message in
                batch.appendStamped(now) { changes.append(message, to: &$0) }
                if message.port != 0 { ports.insert(message.port) }
                lifetimes.record(message, at: .now)
                look(message)
            }
            switch reading {
            case .changes where pending.count + batch.count <= Self.pendingLimit: pending += batch
            case .changes, .overrun: isOverrun = true
            case .empty, nil:
                lastLook = .now
                return isOverrun ? .overrun : .empty
            }
        }
        return isOverrun ? .overrun : .changes
    }

    /// Reads the queued notifications of neighbours into ``pending``.
    private mutating func readNeighbours(_ look: (NetlinkMessage) -> Void) throws(ReachabilityError) {
        var changes = UnprivilegedChanges()
        swap(&changes, &unprivileged)
        defer { swap(&changes, &unprivileged) }
        for _ in 0..<Self.burstLimit {
            var batch: [UInt8] = []
            let now = clock.now
            let reading = try neighbourEvents?.receive { message in
                batch.appendStamped(now) { changes.append(message, to: &$0) }
                look(message)
            }
            pending += batch
            switch reading {
            case .changes: continue
            case .overrun:
                // The kernel drops further notifications until the queue is empty.
                while try neighbourEvents?.receive({ _ in }) != .empty {}
                var tables: [RecordedTable] = []
                for family in IPAddress.Family.allCases {
                    tables.append(try dump(.init(.neighbours, family)))
                }
                pending.appendStamped(clock.now) { changes.neighboursDumped(tables, to: &$0) }
            case .empty, nil: return
            }
        }
    }

    /// Removes and returns the notifications that are not written yet.
    mutating func drainPending() -> [UInt8] {
        defer { pending.removeAll(keepingCapacity: true) }
        return pending
    }

    /// Forgets the notifications that are not written yet, and the statements about their ports.
    mutating func dropPending() {
        _ = drainPending()
        ports.stateAgain()
    }
}

extension RecordedTable {
    /// Sets the state of a table whose dump the kernel refused.
    ///
    /// - Returns: Whether the refusal means that the kernel does not have the table.
    mutating func accepts(refusal number: Int32) -> Bool {
        switch (table, number) {
        case (.links, _): return false
        case (.nexthops, EOPNOTSUPP):
            // Before Linux 5.3, there are no nexthop objects, so the table is empty.
            state = .consistent
        case (_, EOPNOTSUPP), (_, EAFNOSUPPORT), (_, EPFNOSUPPORT), (_, EPROTONOSUPPORT):
            state = .missing(number)
        default: return false
        }
        return true
    }

    /// The indices of the links in the dump that sysfs reports as cellular modems.
    fileprivate var cellularInterfaces: [UInt32] {
        var indexes: [UInt32] = []
        forEachMessage { message in
            guard case .link(let report) = message.change, report.link.mayBeModem,
                DeviceFacts.isCellular(name: report.link.name, index: report.link.index)
            else { return }
            indexes.append(report.link.index)
        }
        return indexes
    }
}

/// The clock of a recorder's time stamps.
///
/// A time stamp is CLOCK_BOOTTIME plus the offset that the recording states. A clock that is set therefore affects no
/// time stamp before the recording states its new offset, and no notification has a time with the wrong offset.
struct RecorderClock {
    /// The smallest change of the offset that counts as setting the wall clock, in microseconds.
    private static let threshold: Int64 = 1_000

    private let read: @Sendable () -> ClockReading
    /// The offset that the recording states.
    private var offset: Int64

    init(_ read: @escaping @Sendable () -> ClockReading) {
        self.read = read
        offset = read().offset
    }

    /// The present clocks, with the wall clock at the stated offset.
    var reading: ClockReading {
        var reading = read()
        reading.sinceEpoch = reading.sinceBoot + offset
        return reading
    }

    /// The present time stamp.
    var now: Recording.Time { reading.time }

    /// Updates the offset if the host's clock was set.
    ///
    /// Returns whether the recording has to state it.
    mutating func follow() -> Bool {
        let new = read().offset
        guard abs(new - offset) >= Self.threshold else { return false }
        offset = new
        return true
    }
}
