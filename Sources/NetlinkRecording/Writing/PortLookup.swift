// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Finds the processes that own netlink ports, within a limited share of the time.
struct PortLookup {
    typealias Port = Recording.Event.NetlinkPort
    typealias Requester = Recording.Event.Requester
    /// Looks up the owners of several ports together, for as long as the meter allows.
    typealias Finder = ([Port], inout LookupMeter, () -> Bool) -> [Finding]

    /// The result of a lookup for a port.
    struct Finding {
        /// The owner; `nil` if it is unknown.
        var requester: Requester?
        /// Whether the port still belongs to that owner, according to a quick check.
        var holds: () -> Bool = { true }
    }

    /// The most processor time of lookups between two reads of notifications.
    static let limit = Duration.milliseconds(200)
    /// The inverse of the share of time that lookups can use.
    private static let share = 20
    /// The most unused time that is saved for later lookups.
    private static let reserve = Duration.milliseconds(500)
    /// How long the owners of a port are assumed to be unchanged.
    private static let lifetime = Duration.seconds(1)
    /// The most ports that are stored.
    private static let portLimit = Requester.portLimit

    /// The ports that were looked up, with the time and the result.
    private var known: [UInt32: (time: ContinuousClock.Instant, finding: Finding)] = [:]
    /// The owners that the recording states since its last dump.
    private var stated: [UInt32: Requester] = [:]
    private var budget = reserve
    private var last: ContinuousClock.Instant?
    private let find: Finder
    private let clock: () -> Duration

    /// - Parameters:
    ///   - find: Looks up ports; by default in `/proc`.
    ///   - clock: The processor time of this thread, which other busy programs do not use up.
    init(
        _ find: @escaping Finder = { PortLookup.find($0, metered: &$1, attending: $2) },
        clock: @escaping () -> Duration = LookupMeter.processorTime
    ) {
        (self.find, self.clock) = (find, clock)
    }

    /// The number of stored ports.
    var count: Int { max(known.count, stated.count) }

    /// States the owner of each port again, because earlier statements were dropped, or because a dump follows, after
    /// which readers forget them.
    mutating func stateAgain() {
        stated = [:]
    }

    /// The owners of the ports of some messages, as far as the recording does not contain them yet.
    ///
    /// They are written before the messages.
    ///
    /// A port is looked up again after a while, or when its owner has ended or closed the socket, because the number
    /// can then belong to another process. If there is no time for that, the earlier statement is withdrawn. One scan
    /// of all processes serves all ports.
    ///
    /// - Parameters:
    ///   - ports: Different ports.
    ///   - limit: The processor time that a lookup can use. The used time is subtracted.
    ///   - now: The present instant.
    ///   - attend: Called repeatedly during a lookup. The lookup ends when it returns `false`.
    /// - Returns: An annotation for each port whose owner is new.
    mutating func statements(
        about ports: [UInt32],
        within limit: inout Duration,
        now: ContinuousClock.Instant = .now,
        attending attend: () -> Bool = { true }
    ) -> [RecordingAnnotation] {
        let old = ports.filter { port in
            known[port].map { $0.time.duration(to: now) < Self.lifetime && $0.finding.holds() } != true
        }
        if !old.isEmpty { look(old, now, &limit, attend) }
        let changed = ports.filter { stated[$0] != known[$0]?.finding.requester }
        let statements = makeRoom(for: changed, keeping: ports)
        return statements
            + changed.compactMap { port in
                let requester = known[port]?.finding.requester
                guard stated[port] != nil || stated.count < Self.portLimit else { return nil }
                stated[port] = requester
                return .requester(port: port, requester)
            }
    }

    /// Withdraws statements about other ports, if a reader cannot store as many.
    private mutating func makeRoom(for changed: [UInt32], keeping ports: [UInt32]) -> [RecordingAnnotation] {
        let added = changed.count { stated[$0] == nil }
        let excess = stated.count + added - Self.portLimit
        guard excess > 0 else { return [] }
        let kept = Set(ports)
        let dropped = stated.keys.filter { !kept.contains($0) }.prefix(excess)
        for port in dropped { stated[port] = nil }
        return dropped.map { .requester(port: $0, nil) }
    }

    private mutating func look(
        _ ports: [UInt32],
        _ now: ContinuousClock.Instant,
        _ limit: inout Duration,
        _ attend: () -> Bool
    ) {
        for port in ports { known[port] = nil }
        guard spend(now), limit > .zero else { return }
        let ports = Array(ports.prefix(Self.portLimit))
        if known.count + ports.count > Self.portLimit { known = [:] }
        var meter = LookupMeter(limit, clock)
        for (port, found) in zip(ports, find(ports.map { Port($0) }, &meter, attend)) {
            known[port] = (now, found)
        }
        budget -= meter.used
        limit -= meter.used
    }

    /// Whether there is time for a lookup.
    private mutating func spend(_ now: ContinuousClock.Instant) -> Bool {
        if let last { budget = min(Self.reserve, budget + last.duration(to: now) / Self.share) }
        last = now
        return budget > .zero
    }
}

/// Limits the processor time of a lookup, and calls its caller meanwhile.
struct LookupMeter {
    /// How often the caller is called during a lookup.
    private static let interval = Duration.milliseconds(1)

    private let limit: Duration
    private let clock: () -> Duration
    private var begin: Duration
    /// When the caller is called next.
    private var due = interval
    private var isStopped = false

    /// - Parameters:
    ///   - limit: The most processor time.
    ///   - clock: The processor time of this thread.
    init(_ limit: Duration, _ clock: @escaping () -> Duration = Self.processorTime) {
        (self.limit, self.clock, begin) = (limit, clock, clock())
    }

    /// The processor time of the lookup, without the time of its caller's work.
    var used: Duration { clock() - begin }

    /// Whether a lookup can continue.
    ///
    /// The lookup calls this before each step, which takes some microseconds.
    ///
    /// - Parameters:
    ///   - part: The share of the time limit at which the first part of the lookup has to end.
    ///   - attend: The caller's work. Returns whether the lookup can continue.
    /// - Returns: Whether the lookup can continue.
    mutating func goesOn(to part: Double = 1, _ attend: () -> Bool) -> Bool {
        let now = used
        guard !isStopped, now < limit * part else { return false }
        if now >= due {
            isStopped = !attend()
            begin += used - now
            due = now + Self.interval
        }
        return !isStopped
    }

    /// The processor time of the calling thread.
    static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

// MARK: - /proc

extension PortLookup {
    /// The share of the time limit for the search for sockets.
    ///
    /// After that, processes with the number of a port are searched.
    private static let socketPart = 0.75

    /// Looks up ports in `/proc`, with one scan of the processes.
    ///
    /// Results that are incomplete when the meter stops the scan are not stated as exact.
    ///
    /// - Parameters:
    ///   - ports: The ports.
    ///   - visibility: How many processes are visible.
    ///   - processes: The processes to scan; `nil` for all.
    ///   - meter: The time limit.
    ///   - attend: Called during the scan.
    /// - Returns: The owner of each port; `nil` if this process cannot see enough processes.
    static func find(
        _ ports: [Port],
        _ visibility: ProcessVisibility = .current,
        among processes: [Int32]? = nil,
        metered meter: inout LookupMeter,
        attending attend: () -> Bool = { true }
    ) -> [Finding] {
        guard visibility != .own, let table = inodes(of: ports, &meter, attend) else {
            return ports.map { _ in Finding() }
        }
        var search = ProcessSearch(processes, ports, &meter, attend)
        if !table.isEmpty { search.findHolders(of: Set(table.values), to: socketPart, &meter, attend) }
        let isExact = visibility == .sockets && search.hasReadAll
        let exact = ports.map { port -> Finding? in
            guard isExact, let holders = table[port.number].flatMap({ search.holders[$0] }) else {
                return nil
            }
            return exactFinding(holders)
        }
        search.findCandidates(zip(ports, exact).filter { $0.1 == nil }.map(\.0), &meter, attend)
        let showsHost = ProcessVisibility.showsHost
        return zip(ports, exact).map { port, exact in
            if let exact { return exact }
            let inode = table[port.number]
            if let named = candidates(port, inode.flatMap { search.holders[$0] } ?? [], search) {
                return named
            }
            // An invisible process can have the socket, or the number.
            let isGone = inode == nil && showsHost && search.hasAllCandidates && port.processIdentifier != nil
            // Another process can have the number at the next change.
            return isGone
                ? Finding(requester: Requester(certainty: .gone, processes: [])) { false } : Finding()
        }
    }

    /// Describes the holders of a socket; `nil` if one of them has ended, or if they are not a valid finding.
    private static func exactFinding(_ holders: [ProcessSearch.Holder]) -> Finding? {
        // The service manager opens sockets for services. It can be the only holder left after the service has ended.
        guard holders.map(\.process) != [1], holders.count <= Requester.limit else { return nil }
        let order = managerLast(holders.map(\.process).sorted())
        let processes = order.compactMap { RunningProcess(reading: $0) }
        guard processes.count == holders.count else { return nil }
        let requester = Requester(
            certainty: holders.count == 1 ? .holder : .holders,
            processes: processes.map { Requester.Process($0) })
        return Finding(requester: requester) { holders.allSatisfy(\.link.isOpen) }
    }

    /// Describes the candidates for a port: processes that have the socket, then the process with the number, then
    /// other processes that have the number in their own PID namespace.
    private static func candidates(
        _ port: Port,
        _ holders: [ProcessSearch.Holder],
        _ search: ProcessSearch
    ) -> Finding? {
        let (own, others) = port.processIdentifier.flatMap { search.candidates[$0] } ?? (nil, [])
        var order = managerLast(holders.map(\.process))
        let services = port.number == 1 ? search.services : []
        for process in services + [own].compactMap(\.self) + others where !order.contains(process) {
            order.append(process)
        }
        let named = managerLast(Array(order.prefix(Requester.limit))).compactMap {
            RunningProcess(reading: $0)
        }
        guard !named.isEmpty else { return nil }
        let requester = Requester(
            certainty: .candidates, processes: named.map { Requester.Process($0) },
            isCut: order.count > Requester.limit || !search.hasAllCandidates)
        return Finding(requester: requester) {
            named.allSatisfy { access("/proc/\($0.identifier)", F_OK) == 0 }
                && holders.allSatisfy(\.link.isOpen)
        }
    }

    /// Puts the service manager, which opens sockets for services, last.
    private static func managerLast(_ processes: [Int32]) -> [Int32] {
        processes.filter { $0 != 1 } + processes.filter { $0 == 1 }
    }

    /// The inodes of the open rtnetlink sockets that have these ports in this thread's network namespace; `nil` if
    /// they cannot be read.
    private static func inodes(
        of ports: [Port],
        _ meter: inout LookupMeter,
        _ attend: () -> Bool
    ) -> [UInt32: UInt32]? {
        let descriptor = open(ProcessSearch.table, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let wanted = Set(ports.map(\.number))
        var (inodes, line) = ([UInt32: UInt32](), [UInt8]())
        while meter.goesOn(attend) {
            let (bytes, number) = FileBytes.read(descriptor, upTo: 4_096)
            guard number == 0 else { return nil }
            if bytes.isEmpty { return inodes }
            for byte in bytes {
                if byte != 0x0a {
                    line.append(byte)
                    continue
                }
                // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
                let fields = line.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
                line.removeAll(keepingCapacity: true)
                guard fields.count >= 10, fields[1] == "0", let port = UInt32(fields[2]),
                    wanted.contains(port)
                else { continue }
                inodes[port] = UInt32(fields[9])
            }
        }
        return nil
    }
}

/// A scan of all processes for possible owners of ports.
private struct ProcessSearch {
    /// A process that has a socket, and its link to the socket.
    struct Holder {
        let process: Int32
        let link: RunningProcess.SocketLink
    }

    static let table = "/proc/thread-self/net/netlink"

    /// The processes, beginning with those whose numbers are ports.
    private var processes: [Int32] = []
    /// Whether the sockets of all processes were read.
    private(set) var hasReadAll = true
    /// Whether all processes were compared with the ports.
    private(set) var hasAllCandidates = true
    /// The processes that have sockets, by inode.
    private(set) var holders: [UInt32: [Holder]] = [:]
    /// The processes that have a number in their own PID namespace and are in this thread's network namespace: the
    /// one in the PID namespace of `/proc`, and others.
    private(set) var candidates: [Int32: (own: Int32?, others: [Int32])] = [:]
    /// The processes in this thread's network namespace whose rtnetlink socket the manager of services binds, if a port
    /// is the manager's.
    private(set) var services: [Int32] = []

    /// The name of the main thread of systemd-networkd, of which the kernel keeps 15 bytes.
    ///
    /// systemd-networkd.socket (`ListenNetlink=route 1361`) is the only unit of systemd that passes such a socket on.
    private static let serviceName = "systemd-network\n"

    init(_ given: [Int32]?, _ ports: [PortLookup.Port], _ meter: inout LookupMeter, _ attend: () -> Bool) {
        let (processes, areAll) = given.map { ($0, true) } ?? RunningProcess.list { meter.goesOn(attend) }
        (hasReadAll, hasAllCandidates) = (areAll, areAll)
        let numbers = Set(ports.compactMap(\.processIdentifier))
        self.processes = processes.filter(numbers.contains) + processes.filter { !numbers.contains($0) }
    }

    mutating func findHolders(
        of inodes: Set<UInt32>,
        to part: Double,
        _ meter: inout LookupMeter,
        _ attend: () -> Bool
    ) {
        func goesOn() -> Bool { meter.goesOn(to: part, attend) }
        for process in processes {
            var found: [UInt32: Holder] = [:]
            let isRead = RunningProcess.forEachSocket(of: process, while: goesOn) { link in
                if inodes.contains(link.inode) { found[link.inode] = Holder(process: process, link: link) }
            }
            if !isRead, errno != ENOENT, errno != ESRCH { hasReadAll = false }
            for (inode, holder) in found { holders[inode, default: []].append(holder) }
            guard goesOn() else {
                hasReadAll = false
                return
            }
        }
    }

    mutating func findCandidates(_ ports: [PortLookup.Port], _ meter: inout LookupMeter, _ attend: () -> Bool)
    {
        let numbers = Set(ports.compactMap(\.processIdentifier))
        guard !numbers.isEmpty, let namespace = Self.inode(of: Self.table) else { return }
        for process in processes {
            // Processes with these numbers come first and are few.
            guard numbers.contains(process) || meter.goesOn(attend) else {
                hasAllCandidates = false
                return
            }
            if numbers.contains(1), FileBytes.text(of: "/proc/\(process)/comm", upTo: 16) == Self.serviceName,
                Self.inode(of: "/proc/\(process)/net/netlink") == namespace
            {
                services.append(process)
            }
            guard let (number, isOwn) = RunningProcess.innermostIdentifier(of: process),
                numbers.contains(number),
                Self.inode(of: "/proc/\(process)/net/netlink") == namespace
            else { continue }
            if isOwn {
                candidates[number, default: (nil, [])].own = process
            } else {
                candidates[number, default: (nil, [])].others.append(process)
            }
        }
    }

    /// The inode of a file.
    ///
    /// The inodes of `/proc/PID/net` differ between network namespaces.
    private static func inode(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }
}
