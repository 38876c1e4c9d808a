// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Finds out which processes netlink ports stand for, for a bounded part of the time.
struct PortLookup {
    typealias Requester = Recording.Event.Requester

    /// The part of the time that lookups can take: one in so many.
    private static let share = 20
    /// The time for lookups that is saved up while there are none.
    private static let reserve = Duration.milliseconds(500)
    /// How long a port stands for the same processes.
    private static let lifetime = Duration.seconds(1)
    /// The most ports that are remembered.
    private static let limit = 1_024

    /// The ports that were looked up, when, and what was found.
    private var known: [UInt32: (time: ContinuousClock.Instant, requester: Requester?)] = [:]
    /// What the recording says of ports.
    private var stated: [UInt32: Requester?] = [:]
    private var budget = reserve
    private var last: ContinuousClock.Instant?
    private let find: (Recording.Event.NetlinkPort) -> Requester?

    /// - Parameter find: Looks a port up; by default in `/proc`.
    init(_ find: @escaping (Recording.Event.NetlinkPort) -> Requester? = { PortLookup.find($0) }) {
        self.find = find
    }

    /// How many ports are remembered.
    var count: Int { max(known.count, stated.count) }

    /// Has each port stated again: what was stated is dropped, or in a file that is read without the next one.
    mutating func stateAgain() {
        stated = [:]
    }

    /// What to state of a port ahead of a message with it: who it stands for, as far as the recording does not say so.
    ///
    /// A port is looked up again after a while: the number can belong to another process then.
    ///
    /// - Returns: The annotation; `nil` for nothing new, and if there is no time for a lookup.
    mutating func statement(
        about number: UInt32,
        now: ContinuousClock.Instant = .now
    ) -> RecordingAnnotation? {
        if known[number].map({ $0.time.duration(to: now) < Self.lifetime }) != true {
            guard spend(now) else { return nil }
            if known.count >= Self.limit { known = [:] }
            let begin = ContinuousClock.now
            known[number] = (now, find(Recording.Event.NetlinkPort(number)))
            budget -= begin.duration(to: .now)
        }
        let requester = known[number]?.requester
        let before: Requester?? = stated[number]
        guard requester != before ?? nil else { return nil }
        if stated.count >= Self.limit { stated = [:] }
        stated[number] = requester
        return .requester(port: number, requester)
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
    /// Looks a port up in `/proc`.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - visibility: How much of the processes is shown.
    ///   - processes: The processes to look at.
    /// - Returns: The processes; `nil` if this process is not shown enough to say anything.
    static func find(
        _ port: Recording.Event.NetlinkPort,
        _ visibility: ProcessVisibility = .current,
        among processes: [Int32] = RunningProcess.all()
    ) -> Requester? {
        guard visibility != .own else { return nil }
        let inode = socketInode(of: port.number)
        let holders = inode.map { self.holders(of: $0, among: processes) } ?? (found: [], isComplete: true)
        if visibility == .sockets, holders.isComplete, !holders.found.isEmpty {
            return requester(holders.found.count == 1 ? .holder : .holders, holders.found)
        }
        let candidates = Set(holders.found).union(self.candidates(port, among: processes))
        if !candidates.isEmpty { return requester(.candidates, Array(candidates)) }
        // A socket that is open belongs to a process that is not shown.
        return inode == nil ? requester(.gone, []) : nil
    }

    private static func requester(_ certainty: Requester.Certainty, _ found: [Int32]) -> Requester {
        // The manager of services, which opens sockets for them, comes last.
        let order = found.sorted { ($0 == 1 ? 1 : 0, $0) < ($1 == 1 ? 1 : 0, $1) }
        return Requester(
            certainty: certainty,
            processes: order.prefix(Requester.limit).map { Requester.Process(RunningProcess(reading: $0)) })
    }

    /// The inode of the rtnetlink socket with a port in this thread's network namespace; `nil` if it is closed.
    private static func socketInode(of port: UInt32) -> UInt32? {
        guard let file = fopen(table, "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
            if fields.count >= 10, fields[1] == "0", UInt32(fields[2]) == port { return UInt32(fields[9]) }
        }
        return nil
    }

    private static let table = "/proc/thread-self/net/netlink"

    /// The processes that have a socket open, and whether the sockets of all processes could be read.
    private static func holders(
        of inode: UInt32,
        among processes: [Int32]
    ) -> (found: [Int32], isComplete: Bool) {
        var (found, isComplete) = ([Int32](), true)
        for process in processes {
            if let inodes = RunningProcess.socketInodes(of: process) {
                if inodes.contains(inode) { found.append(process) }
            } else if errno != ENOENT, errno != ESRCH {
                isComplete = false
            }
        }
        return (found, isComplete)
    }

    /// The processes that have the number of a port for themselves, in this thread's network namespace.
    private static func candidates(
        _ port: Recording.Event.NetlinkPort,
        among processes: [Int32]
    ) -> [Int32] {
        guard let own = inode(of: table), let number = port.processIdentifier else { return [] }
        return processes.filter { process in
            RunningProcess.innermostIdentifier(of: process) == number
                && inode(of: "/proc/\(process)/net/netlink") == own
        }
    }

    /// The inode of a file, which differs between the network namespaces of `/proc/PID/net`.
    private static func inode(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }
}
