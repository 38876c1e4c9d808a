// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import NetlinkRoute
import SystemSupport

/// A process that has a socket open.
struct SocketProcess: Hashable {
    let pid: Int32
    /// The name of its main thread (`/proc/PID/comm`), which can have any bytes.
    let name: String
    /// The unit of systemd that it belongs to, such as `ssh.service`; `nil` for none.
    let unit: String?

    /// The processes by the inodes of their sockets: of several, the one with the lowest number.
    ///
    /// Without privilege `/proc` shows the descriptors of the caller's processes only.
    ///
    /// - Parameter only: The only process to read; `nil` for all.
    /// - Returns: The processes.
    /// - Throws: ``ReachabilityError`` if the only process cannot be read.
    static func byInode(pid only: Int32?) throws(ReachabilityError) -> [UInt32: SocketProcess] {
        guard let only else { return byInode(ofAll: allProcesses()) }
        guard let inodes = socketInodes(of: only) else {
            let number = errno
            throw ReachabilityError(
                in: .systemCall,
                operation: "read the descriptors of the process \(only)",
                number: number,
                message: number == EACCES
                    ? "run the command as its user, or as root" : "give a running process"
            )
        }
        let process = SocketProcess(of: only)
        return Dictionary(inodes.map { ($0, process) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the processes concurrently: the kernel takes microseconds for each descriptor.
    private static func byInode(ofAll pids: [Int32]) -> [UInt32: SocketProcess] {
        let processes = Locked<[UInt32: SocketProcess]>([:])
        forEachConcurrently(pids) { pid in
            // Some end meanwhile, or belong to other users.
            guard let inodes = socketInodes(of: pid), !inodes.isEmpty else { return }
            let process = SocketProcess(of: pid)
            processes.withLock { processes in
                for inode in inodes where processes[inode].map({ pid < $0.pid }) ?? true {
                    processes[inode] = process
                }
            }
        }
        return processes.withLock { $0 }
    }

    /// Calls the body with each element, on this thread and on as many others as there are processors and the system
    /// starts: libdispatch ends the process, or waits for ever, where it gets none.
    private static func forEachConcurrently(_ pids: [Int32], _ body: @escaping @Sendable (Int32) -> Void) {
        let next = Locked(0)
        let work: @Sendable () -> Void = {
            while let pid = next.withLock({ next -> Int32? in
                defer { next += 1 }
                return next < pids.count ? pids[next] : nil
            }) { body(pid) }
        }
        let finished = DispatchSemaphore(value: 0)
        let helpers = (1..<max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), pids.count))).filter { _ in
            BackgroundThread.start("netflags-sockets") {
                work()
                finished.signal()
            }
        }
        work()
        for _ in helpers { finished.wait() }
    }

    /// The inodes of the sockets that a process has open; `nil` if they cannot be read, with the reason in `errno`.
    private static func socketInodes(of pid: Int32) -> [UInt32]? {
        var inodes: [UInt32] = []
        let isRead = forEachEntry(of: "/proc/\(pid)/fd") { folder, descriptor in
            if let inode = socketInode(folder, descriptor) { inodes.append(inode) }
        }
        return isRead ? inodes : nil
    }

    private static func allProcesses() -> [Int32] {
        var found: [Int32] = []
        _ = forEachEntry(of: "/proc") { _, name in
            if let pid = Int32(String(cString: name)) { found.append(pid) }
        }
        return found
    }

    /// Calls the body with the descriptor of a folder and each name in it.
    ///
    /// - Returns: Whether the folder can be read; if not, `errno` has the reason.
    private static func forEachEntry(
        of folder: String,
        _ body: (Int32, UnsafePointer<CChar>) -> Void
    ) -> Bool {
        guard let stream = opendir(folder) else { return false }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { body(dirfd(stream), $0) }
            }
        }
        return true
    }

    /// Refuses a process of another network namespace, whose sockets are not listed here.
    ///
    /// - Parameter pid: The process; one whose namespace cannot be read is taken.
    /// - Throws: ``ReachabilityError`` if it is in another one.
    static func checkNamespace(of pid: Int32) throws(ReachabilityError) {
        guard let own = NetworkNamespace.current, let other = NetworkNamespace.of(process: pid), own != other
        else { return }
        throw ReachabilityError(
            in: .systemCall,
            operation: "list the sockets of the process \(pid)",
            message: "it is in another network namespace: run this with nsenter --net --target \(pid)"
        )
    }

    /// The inode of the socket that a link in a folder leads to, `socket:[123]`; `nil` for other links.
    private static func socketInode(_ folder: Int32, _ name: UnsafePointer<CChar>) -> UInt32? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { target in
            let count = target.baseAddress.map { readlinkat(folder, name, $0, target.count) } ?? -1
            let prefix = "socket:["
            guard count > prefix.utf8.count else { return nil }
            let text = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: target[..<count]))
            guard text.starts(with: prefix.utf8) else { return nil }
            return UInt32(String(decoding: text[prefix.utf8.count..<count - 1], as: UTF8.self))
        }
    }
}

// MARK: - Name and unit

extension SocketProcess {
    fileprivate init(of pid: Int32) {
        self.pid = pid
        let comm = Self.text(of: "/proc/\(pid)/comm")
        name = comm.hasSuffix("\n") ? String(comm.dropLast()) : comm
        unit = Self.unit(inGroups: Self.text(of: "/proc/\(pid)/cgroup"))
    }

    /// The unit in the text of `/proc/PID/cgroup`: the innermost group that systemd made for one.
    ///
    /// The group is that of the unified hierarchy, or of systemd's own beside version 1.
    static func unit(inGroups text: String) -> String? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { continue }
            let unit = fields[2].split(separator: "/").last { group in
                [".service", ".scope", ".socket"].contains(where: group.hasSuffix)
            }
            if let unit { return String(unit) }
        }
        return nil
    }

    /// The first bytes of a file; empty if it cannot be read.
    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// The name with the number and the unit, such as `sshd/812 (ssh.service)`.
    var words: String { "\(name)/\(pid)" + (unit.map { " (\($0))" } ?? "") }
}
