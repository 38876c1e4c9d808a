// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Finds the processes that own netlink ports, within a bounded share of the time.
struct PortLookup {
    typealias Port = Recording.Event.NetlinkPort
    typealias Requester = Recording.Event.Requester
    /// Looks up the owners of ports, all ports together.
    typealias Finder = ([Port]) -> [Requester?]

    /// The part of the time that lookups can take: one in so many.
    private static let share = 20
    /// The time for lookups that is saved up while there are none.
    private static let reserve = Duration.milliseconds(500)
    /// How long the owners of a port are taken to be the same.
    private static let lifetime = Duration.seconds(1)
    /// The most ports that are remembered.
    private static let limit = Requester.portLimit

    /// The ports that were looked up, when, and what was found.
    private var known: [UInt32: (time: ContinuousClock.Instant, requester: Requester?)] = [:]
    /// What the recording says of ports since its last dump.
    private var stated: [UInt32: Requester] = [:]
    private var budget = reserve
    private var last: ContinuousClock.Instant?
    private let find: Finder

    /// - Parameter find: Looks ports up; by default in `/proc`.
    init(_ find: @escaping Finder = { PortLookup.find($0) }) {
        self.find = find
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
    /// A port is looked up again after a while: the number can belong to another process then. Without the time for
    /// that, what was stated of it is taken back. One look at all processes serves all ports.
    ///
    /// - Parameters:
    ///   - ports: Different ports.
    ///   - now: The present instant.
    /// - Returns: An annotation for each port whose owner is new.
    mutating func statements(
        about ports: [UInt32],
        now: ContinuousClock.Instant = .now
    ) -> [RecordingAnnotation] {
        let old = ports.filter { port in
            known[port].map { $0.time.duration(to: now) < Self.lifetime } != true
        }
        if !old.isEmpty { look(old, now) }
        let changed = ports.filter { stated[$0] != known[$0]?.requester }
        let statements = makeRoom(for: changed, keeping: ports)
        return statements
            + changed.compactMap { port in
                let requester = known[port]?.requester
                guard stated[port] != nil || stated.count < Self.limit else { return nil }
                stated[port] = requester
                return .requester(port: port, requester)
            }
    }

    /// Takes back what was stated of other ports, as far as a reader does not keep as many.
    private mutating func makeRoom(for changed: [UInt32], keeping ports: [UInt32]) -> [RecordingAnnotation] {
        let added = changed.count { stated[$0] == nil }
        let excess = stated.count + added - Self.limit
        guard excess > 0 else { return [] }
        let kept = Set(ports)
        let dropped = stated.keys.filter { !kept.contains($0) }.prefix(excess)
        for port in dropped { stated[port] = nil }
        return dropped.map { .requester(port: $0, nil) }
    }

    private mutating func look(_ ports: [UInt32], _ now: ContinuousClock.Instant) {
        guard spend(now) else {
            for port in ports { known[port] = nil }
            return
        }
        let ports = Array(ports.prefix(Self.limit))
        if known.count + ports.count > Self.limit { known = [:] }
        let begin = ContinuousClock.now
        for (port, requester) in zip(ports, find(ports.map { Port($0) })) { known[port] = (now, requester) }
        budget -= begin.duration(to: .now)
    }

    /// Whether there is time for a lookup.
    private mutating func spend(_ now: ContinuousClock.Instant) -> Bool {
        if let last { budget = min(Self.reserve, budget + last.duration(to: now) / Self.share) }
        last = now
        return budget > .zero
    }
}

// MARK: - /proc

extension PortLookup {
    /// Looks ports up in `/proc`, with one look at each process.
    ///
    /// - Parameters:
    ///   - ports: The ports.
    ///   - visibility: How much of the processes is shown.
    ///   - processes: The processes to look at.
    /// - Returns: The owner of each port; `nil` if this process may not see enough processes.
    static func find(
        _ ports: [Port],
        _ visibility: ProcessVisibility = .current,
        among processes: [Int32] = RunningProcess.all()
    ) -> [Requester?] {
        guard visibility != .own, !processes.isEmpty, let table = inodes(of: ports) else {
            return ports.map { _ in nil }
        }
        var (holders, areComplete) = ([UInt32: [Int32]](), true)
        if !table.isEmpty {
            let wanted = Set(table.values)
            for process in processes {
                if let inodes = RunningProcess.socketInodes(of: process) {
                    for inode in wanted.intersection(inodes) { holders[inode, default: []].append(process) }
                } else if errno != ENOENT, errno != ESRCH {
                    areComplete = false
                }
            }
        }
        let found = ports.map { port in table[port.number].flatMap { holders[$0] } ?? [] }
        let exact = found.map { found -> Requester? in
            // The manager of services opens sockets for them, and can be the only one that is left of its service.
            guard visibility == .sockets, areComplete, !found.isEmpty, found != [1],
                found.count <= Requester.limit
            else { return nil }
            return requester(found.count == 1 ? .holder : .holders, found)
        }
        let others = zip(ports, exact).filter { $0.1 == nil }
        let candidates = candidates(Set(others.compactMap(\.0.processIdentifier)), among: processes)
        let showsHost = ProcessVisibility.showsHost
        return ports.indices.map { index in
            if let exact = exact[index] { return exact }
            let (port, found) = (ports[index], found[index])
            let possible = Set(found).union(port.processIdentifier.flatMap { candidates[$0] } ?? [])
            if let named = requester(.candidates, Array(possible)) { return named }
            // A process that is not shown can have the socket, or the number.
            let isClosed = table[port.number] == nil && showsHost
            return isClosed && port.processIdentifier != nil
                ? Requester(certainty: .gone, processes: []) : nil
        }
    }

    /// Names processes; `nil` if one of them has ended, or there are none.
    private static func requester(_ certainty: Requester.Certainty, _ found: [Int32]) -> Requester? {
        // The manager of services, which opens sockets for them, comes last.
        let order = found.sorted { ($0 == 1 ? 1 : 0, $0) < ($1 == 1 ? 1 : 0, $1) }
        let processes = order.prefix(Requester.limit).map { RunningProcess(reading: $0) }
        let named = processes.filter { !$0.name.isEmpty }
        guard !named.isEmpty, certainty == .candidates || named.count == found.count else { return nil }
        return Requester(certainty: certainty, processes: named.map { Requester.Process($0) })
    }

    /// The inodes of the rtnetlink sockets that ports have in this thread's network namespace, those that are open;
    /// `nil` if they cannot be read.
    private static func inodes(of ports: [Port]) -> [UInt32: UInt32]? {
        guard let text = FileBytes.text(of: table, upTo: .max) else { return nil }
        let wanted = Set(ports.map(\.number))
        var inodes: [UInt32: UInt32] = [:]
        for line in text.split(separator: "\n") {
            // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
            let fields = line.split(separator: " ")
            guard fields.count >= 10, fields[1] == "0", let port = UInt32(fields[2]), wanted.contains(port)
            else { continue }
            inodes[port] = UInt32(fields[9])
        }
        return inodes
    }

    private static let table = "/proc/thread-self/net/netlink"

    /// The processes that have one of some numbers for themselves, in this thread's network namespace.
    private static func candidates(_ numbers: Set<Int32>, among processes: [Int32]) -> [Int32: [Int32]] {
        var candidates: [Int32: [Int32]] = [:]
        guard !numbers.isEmpty, let own = inode(of: table) else { return candidates }
        for process in processes {
            guard let number = RunningProcess.innermostIdentifier(of: process), numbers.contains(number),
                inode(of: "/proc/\(process)/net/netlink") == own
            else { continue }
            candidates[number, default: []].append(process)
        }
        return candidates
    }

    /// The inode of a file, which differs between the network namespaces of `/proc/PID/net`.
    private static func inode(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }
}
