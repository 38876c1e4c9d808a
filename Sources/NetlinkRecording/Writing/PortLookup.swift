// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Finds the processes that own netlink ports, within a bounded share of the time.
struct PortLookup {
    typealias Port = Recording.Event.NetlinkPort
    typealias Requester = Recording.Event.Requester
    /// Looks up the owners of ports, all ports together, as long as the meter lets it go on.
    typealias Finder = ([Port], inout LookupMeter, () -> Bool) -> [Finding]

    /// What a lookup found out about a port.
    struct Finding {
        /// The owner; `nil` if it is unknown.
        var requester: Requester?
        /// Whether the port still stands for that owner, as far as a short look shows it.
        var holds: () -> Bool = { true }
    }

    /// The most processor time of the lookups between two reads of notifications that are due.
    static let limit = Duration.milliseconds(200)
    /// The part of the time that lookups can take: one in so many.
    private static let share = 20
    /// The time for lookups that is saved up while there are none.
    private static let reserve = Duration.milliseconds(500)
    /// How long the owners of a port are taken to be the same.
    private static let lifetime = Duration.seconds(1)
    /// The most ports that are remembered.
    private static let portLimit = Requester.portLimit

    /// The ports that were looked up, when, and what was found.
    private var known: [UInt32: (time: ContinuousClock.Instant, finding: Finding)] = [:]
    /// What the recording says of ports since its last dump.
    private var stated: [UInt32: Requester] = [:]
    private var budget = reserve
    private var last: ContinuousClock.Instant?
    private let find: Finder
    private let clock: () -> Duration

    /// - Parameters:
    ///   - find: Looks ports up; by default in `/proc`.
    ///   - clock: The processor time of this thread, which another program that is busy does not use up.
    init(
        _ find: @escaping Finder = { PortLookup.find($0, metered: &$1, attending: $2) },
        clock: @escaping () -> Duration = LookupMeter.processorTime
    ) {
        (self.find, self.clock) = (find, clock)
    }

    /// How many ports are remembered.
    var count: Int { max(known.count, stated.count) }

    /// Writes the owner of each port again: the previous ones were dropped, or a dump follows, and readers then forget
    /// them.
    mutating func stateAgain() {
        stated = [:]
    }

    /// The owners of the ports of some messages that the recording does not contain yet; they are written first.
    ///
    /// A port is looked up again after a while, or when its owner has ended or closed the socket: the number can belong
    /// to another process then. Without the time for that, what was stated of it is taken back. One look at all
    /// processes serves all ports.
    ///
    /// - Parameters:
    ///   - ports: Different ports.
    ///   - limit: The processor time that a lookup can take, of which what it took is subtracted.
    ///   - now: The present instant.
    ///   - attend: Called again and again during a lookup, which ends where it returns `false`.
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

    /// Takes back what was stated of other ports, as far as a reader does not keep as many.
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

/// The processor time of a lookup, which has a limit, and what goes on meanwhile.
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

    /// The time that the lookup has taken, without what its caller did meanwhile.
    var used: Duration { clock() - begin }

    /// Whether a lookup can go on, which is asked before each step of some microseconds.
    ///
    /// - Parameters:
    ///   - part: The part of the time at which a first part of the lookup has to end.
    ///   - attend: What the caller does meanwhile; it returns whether the lookup can go on.
    /// - Returns: Whether it can go on.
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
    /// The part of the time for the search for sockets; processes with the number of a port are looked for then.
    private static let socketPart = 0.75

    /// Looks ports up in `/proc`, with one look at each process.
    ///
    /// What is not found before the meter stops it is not stated as exact.
    ///
    /// - Parameters:
    ///   - ports: The ports.
    ///   - visibility: How much of the processes is shown.
    ///   - processes: The processes to look at; `nil` for all.
    ///   - meter: The time.
    ///   - attend: Called meanwhile.
    /// - Returns: The owner of each port; `nil` if this process may not see enough processes.
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
            // A process that is not shown can have the socket, or the number.
            let isGone = inode == nil && showsHost && search.hasAllCandidates && port.processIdentifier != nil
            // Another process can have the number at the next change.
            return isGone
                ? Finding(requester: Requester(certainty: .gone, processes: [])) { false } : Finding()
        }
    }

    /// Names the holders of a socket; `nil` if one of them has ended, or they are no finding.
    private static func exactFinding(_ holders: [ProcessSearch.Holder]) -> Finding? {
        // The manager of services opens sockets for them, and can be the only one that is left of its service.
        guard holders.map(\.process) != [1], holders.count <= Requester.limit else { return nil }
        let order = managerLast(holders.map(\.process).sorted())
        let processes = order.compactMap { RunningProcess(reading: $0) }
        guard processes.count == holders.count else { return nil }
        let requester = Requester(
            certainty: holders.count == 1 ? .holder : .holders,
            processes: processes.map { Requester.Process($0) })
        return Finding(requester: requester) { holders.allSatisfy(\.link.isOpen) }
    }

    /// Names those that can have a port: those that have the socket, then the process whose number it is, then others
    /// that have it in a PID namespace of their own.
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

    /// Puts the manager of services, which opens sockets for them, behind the others.
    private static func managerLast(_ processes: [Int32]) -> [Int32] {
        processes.filter { $0 != 1 } + processes.filter { $0 == 1 }
    }

    /// The inodes of the rtnetlink sockets that ports have in this thread's network namespace, those that are open;
    /// `nil` if they cannot be read.
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

/// A look at all processes for those that ports can stand for.
private struct ProcessSearch {
    /// A process that has a socket, and where.
    struct Holder {
        let process: Int32
        let link: RunningProcess.SocketLink
    }

    static let table = "/proc/thread-self/net/netlink"

    /// The processes, those with the numbers of ports first.
    private var processes: [Int32] = []
    /// Whether the sockets of all processes were read.
    private(set) var hasReadAll = true
    /// Whether all processes were compared with the numbers of ports.
    private(set) var hasAllCandidates = true
    /// The processes that have sockets, by inodes.
    private(set) var holders: [UInt32: [Holder]] = [:]
    /// The processes that have a number for themselves, in this thread's network namespace: that of the PID namespace
    /// of `/proc`, and others.
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
            // Those with the numbers come first, and are few.
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

    /// The inode of a file, which differs between the network namespaces of `/proc/PID/net`.
    private static func inode(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }
}
