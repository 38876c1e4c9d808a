// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// A process as `/proc` describes it to all users.
package struct RunningProcess: Hashable, Sendable {
    /// The process's number in the PID namespace of the caller.
    package let identifier: Int32
    /// The name of the main thread (`/proc/PID/comm`): any bytes, or none.
    package let name: String
    /// The systemd unit that the process belongs to, such as `ssh.service`; `nil` for none.
    ///
    /// A unit of a user's manager or of a container follows the host's unit that contains it, as in
    /// `user@1000.service, sshd.service in it`.
    package let unit: String?

    /// Creates a process from its parts.
    package init(identifier: Int32, name: String, unit: String?) {
        (self.identifier, self.name, self.unit) = (identifier, name, unit)
    }

    /// Reads the name and the unit of a process; `nil` if it has ended.
    package init?(reading identifier: Int32) {
        guard let name = FileBytes.text(of: "/proc/\(identifier)/comm", upTo: 256) else { return nil }
        self.init(
            identifier: identifier,
            name: name.hasSuffix("\n") ? String(name.dropLast()) : name,
            unit: Self.unit(inGroups: Self.text(of: "/proc/\(identifier)/cgroup")))
    }

    /// The numbers of all processes that `/proc` shows.
    package static func all() -> [Int32] { list { true }.processes }

    /// The numbers of the processes that `/proc` shows.
    ///
    /// - Parameter goesOn: Called after each process; `false` ends the list.
    /// - Returns: The processes, and whether the list is complete.
    package static func list(while goesOn: () -> Bool) -> (processes: [Int32], areAll: Bool) {
        var (found, areAll) = ([Int32](), true)
        let isRead = forEachNumber(in: "/proc") { process in
            found.append(process)
            areAll = goesOn()
            return areAll
        }
        return (found, areAll && isRead)
    }

    /// Calls the body with each entry of a folder that is a number, until the body returns `false`.
    ///
    /// - Returns: Whether the folder can be read.
    private static func forEachNumber(in folder: String, _ body: (Int32) -> Bool) -> Bool {
        forEachEntry(of: folder) { _, name in number(name).map(body) ?? true }
    }

    /// The number that a text begins with; `nil` if it begins with no digit.
    private static func number(_ text: UnsafePointer<CChar>) -> Int32? {
        guard (0x30...0x39).contains(text[0]) else { return nil }
        return Int32(exactly: strtol(text, nil, 10))
    }

    /// The number that a process has in its own PID namespace, and whether this is the namespace of `/proc`; `nil` if
    /// it cannot be read.
    package static func innermostIdentifier(of identifier: Int32) -> (number: Int32, isOwn: Bool)? {
        for line in text(of: "/proc/\(identifier)/status").split(separator: "\n")
        where line.hasPrefix("NSpid:") {
            let fields = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
            return fields.last.flatMap { Int32($0) }.map { ($0, fields.count == 2) }
        }
        return nil
    }

    /// The name with the number and the unit, such as `sshd/812 (ssh.service)`.
    package var words: String {
        (name.isEmpty ? "process \(identifier)" : "\(name)/\(identifier)") + (unit.map { " (\($0))" } ?? "")
    }

    // MARK: Sockets

    /// A descriptor of a socket.
    package struct SocketLink: Hashable, Sendable {
        /// The inode of the socket.
        package let inode: UInt32
        /// The thread that has the socket open.
        package let thread: Int32
        /// The number of the descriptor in that thread.
        package let descriptor: Int32

        /// Whether the descriptor still refers to the socket.
        package var isOpen: Bool {
            var refusal: Int32 = 0
            return "/proc/\(thread)/fd/\(descriptor)".withCString {
                RunningProcess.socketInode(AT_FDCWD, $0, &refusal) == inode
            }
        }
    }

    /// The inodes of the open sockets of a process; `nil` if they cannot be read, with the reason in `errno`.
    package static func socketInodes(of identifier: Int32) -> [UInt32]? {
        var inodes: [UInt32] = []
        let areRead = forEachSocket(of: identifier) { inodes.append($0.inode) }
        return areRead ? inodes : nil
    }

    /// Calls the body with each socket descriptor of a process, in any of its threads.
    ///
    /// A thread can have its own descriptors, and outlive the main thread.
    ///
    /// - Parameters:
    ///   - identifier: The process.
    ///   - goesOn: Called before each descriptor and each thread; `false` ends the search.
    ///   - body: Called with the sockets.
    /// - Returns: Whether all are read; if not, `errno` has the reason.
    package static func forEachSocket(
        of identifier: Int32,
        while goesOn: () -> Bool = { true },
        _ body: (SocketLink) -> Void
    ) -> Bool {
        guard forEachSocket(ofThread: identifier, while: goesOn, body) else { return false }
        let folder = "/proc/\(identifier)/task"
        var status = stat()
        // The link count of this folder is 2 plus the number of threads.
        guard stat(folder, &status) == 0, status.st_nlink > 3 else { return true }
        var refusal: Int32 = 0
        // If a sandbox refuses to compare the threads, the descriptors of each thread are read.
        let isRead = forEachNumber(in: folder) { thread in
            guard goesOn() else {
                refusal = EAGAIN
                return false
            }
            guard thread != identifier, !csys_threads_share_files(identifier, thread),
                !forEachSocket(ofThread: thread, while: goesOn, body), errno != ENOENT, errno != ESRCH
            else { return true }
            refusal = errno
            return false
        }
        if refusal != 0 { errno = refusal }
        return isRead && refusal == 0
    }

    /// Whether the sockets of a process can be read, judged by its first descriptor.
    fileprivate static func showsSockets(of identifier: Int32) -> Bool {
        var isFirst = true
        func goesOn() -> Bool {
            defer { isFirst = false }
            return isFirst
        }
        return forEachSocket(ofThread: identifier, while: goesOn) { _ in } || errno == EAGAIN
    }

    private static func forEachSocket(
        ofThread thread: Int32,
        while goesOn: () -> Bool,
        _ body: (SocketLink) -> Void
    ) -> Bool {
        // In a separate user namespace, the folder can belong to this user although the links cannot be read.
        var refusal: Int32 = 0
        let isRead = forEachEntry(of: "/proc/\(thread)/fd") { folder, name in
            guard let descriptor = number(name) else { return true }
            guard goesOn() else {
                refusal = EAGAIN
                return false
            }
            if let inode = socketInode(folder, name, &refusal) {
                body(SocketLink(inode: inode, thread: thread, descriptor: descriptor))
            }
            return refusal == 0
        }
        if refusal != 0 { errno = refusal }
        return isRead && refusal == 0
    }

    /// The inode of the socket that a link in a folder leads to, `socket:[123]`; `nil` for other links, and if the link
    /// cannot be read.
    private static func socketInode(
        _ folder: Int32,
        _ name: UnsafePointer<CChar>,
        _ refusal: inout Int32
    ) -> UInt32? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { target in
            let count = target.baseAddress.map { readlinkat(folder, name, $0, target.count) } ?? -1
            if count < 0, errno == EACCES || errno == EPERM { refusal = errno }
            let prefix = "socket:["
            guard count > prefix.utf8.count else { return nil }
            let text = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: target[..<count]))
            guard text.starts(with: prefix.utf8) else { return nil }
            return UInt32(String(decoding: text[prefix.utf8.count..<count - 1], as: UTF8.self))
        }
    }

    // MARK: Text

    /// The unit in the text of `/proc/PID/cgroup`, in the form of ``unit``.
    ///
    /// The first group that is not a slice is a unit of the host's manager, or a container. The user's or container's
    /// manager names the groups in it. The line is of the unified hierarchy, or with version 1 of systemd's hierarchy.
    package static func unit(inGroups text: String) -> String? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { continue }
            let groups = fields[2].split(separator: "/").drop { $0.hasSuffix(".slice") }
            guard let inner = groups.lastIndex(where: isUnit) else { continue }
            if inner == groups.startIndex { return String(groups[inner]) }
            let outer = isUnit(groups[groups.startIndex]) ? groups.prefix(1) : groups.prefix { !isUnit($0) }
            let words = outer.filter { !$0.hasSuffix(".slice") }.joined(separator: "/")
            return "\(words), \(groups[inner]) in it"
        }
        return nil
    }

    private static func isUnit(_ group: Substring) -> Bool {
        [".service", ".scope", ".socket"].contains(where: group.hasSuffix)
    }

    /// The text of a file; empty if it cannot be read.
    private static func text(of path: String) -> String {
        // Hundreds of groups stand before the last lines of /proc/PID/status.
        FileBytes.text(of: path, upTo: 65_536) ?? ""
    }
}

/// How much of other processes `/proc` shows to this process.
package enum ProcessVisibility: String, Hashable, Sendable {
    /// The sockets of all processes of the host.
    case sockets
    /// The names of all processes and the sockets of some; in a container, only of its own processes.
    case names
    /// Only processes of this user.
    case own

    /// What `/proc` shows now.
    package static var current: ProcessVisibility {
        // The mount option hidepid= (proc(5), systemd's ProtectProc=) hides process 1 from ordinary users.
        guard access("/proc/1/status", R_OK) == 0 else { return .own }
        return showsHost && RunningProcess.showsSockets(of: 1) ? .sockets : .names
    }

    /// Whether this process is in the initial PID namespace, which contains all processes of the host
    /// (PID_NS_INIT_INO).
    package static var showsHost: Bool {
        var target = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/ns/pid", &target, target.count)
        return count > 0 && target[..<count].map { UInt8(bitPattern: $0) } == Array("pid:[4026531836]".utf8)
    }
}
