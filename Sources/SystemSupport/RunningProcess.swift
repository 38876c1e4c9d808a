// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// A process as `/proc` describes it to all users.
package struct RunningProcess: Hashable, Sendable {
    /// Its number in the PID namespace of this process.
    package let identifier: Int32
    /// The name of its main thread (`/proc/PID/comm`), which can have any bytes, and none.
    package let name: String
    /// The unit of systemd that it belongs to, such as `ssh.service`; `nil` for none.
    ///
    /// A unit of a user's manager or of a container stands behind what the host's manager has of it, as in
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
    /// - Parameter goesOn: Called for each; the list ends where it returns `false`.
    /// - Returns: The processes, and whether they are all.
    package static func list(while goesOn: () -> Bool) -> (processes: [Int32], areAll: Bool) {
        var (found, areAll) = ([Int32](), true)
        let isRead = forEachNumber(in: "/proc") { process in
            found.append(process)
            areAll = goesOn()
            return areAll
        }
        return (found, areAll && isRead)
    }

    /// Calls the body with each entry of a folder that is a number, until it returns `false`.
    ///
    /// - Returns: Whether the folder can be read.
    private static func forEachNumber(in folder: String, _ body: (Int32) -> Bool) -> Bool {
        forEachEntry(of: folder) { _, name in number(name).map(body) ?? true }
    }

    /// The number that a text is; `nil` for another text.
    private static func number(_ text: UnsafePointer<CChar>) -> Int32? {
        guard (0x30...0x39).contains(text[0]) else { return nil }
        return Int32(exactly: strtol(text, nil, 10))
    }

    /// The number of a process in its innermost PID namespace, which it has for itself, and whether that is the
    /// namespace of `/proc`; `nil` if it cannot be read.
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
        /// The thread that has it open.
        package let thread: Int32
        /// Its number in that thread.
        package let descriptor: Int32

        /// Whether the thread still has the socket open there.
        package var isOpen: Bool {
            var refusal: Int32 = 0
            return "/proc/\(thread)/fd/\(descriptor)".withCString {
                RunningProcess.socketInode(AT_FDCWD, $0, &refusal) == inode
            }
        }
    }

    /// The inodes of the sockets that a process has open; `nil` if they cannot be read, with the reason in `errno`.
    package static func socketInodes(of identifier: Int32) -> [UInt32]? {
        var inodes: [UInt32] = []
        let areRead = forEachSocket(of: identifier) { inodes.append($0.inode) }
        return areRead ? inodes : nil
    }

    /// Calls the body with each descriptor of a socket that a process has, in any of its threads.
    ///
    /// A thread can have descriptors of its own, and go on when the first one has ended.
    ///
    /// - Parameters:
    ///   - identifier: The process.
    ///   - goesOn: Called before each descriptor and each thread; the search ends where it returns `false`.
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
        // The links of a folder count its folders: itself, the one above, and the threads.
        guard stat(folder, &status) == 0, status.st_nlink > 3 else { return true }
        var refusal: Int32 = 0
        // What a sandbox does not compare is read.
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

    /// Whether the sockets of a process can be read, as far as its first descriptor shows it.
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
        // The folder can belong to this user, and its links not be for them: in a user namespace of their own.
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

    /// The inode of the socket that a link in a folder leads to, `socket:[123]`; `nil` for other links, and for one
    /// that is refused.
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

    /// The unit in the text of `/proc/PID/cgroup`, as ``unit`` has it.
    ///
    /// The first group that is no slice is a unit of the host's manager, or a container's. Its owner names
    /// the groups in it. The path is that of the unified hierarchy, or of systemd's own beside version 1.
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

/// How much of other processes `/proc` shows this one.
package enum ProcessVisibility: String, Hashable, Sendable {
    /// The sockets of all processes of the host.
    case sockets
    /// The names of all processes, and the sockets of some; or those of a container alone.
    case names
    /// Only processes of this user.
    case own

    /// What `/proc` shows now.
    package static var current: ProcessVisibility {
        // hidepid= of proc(5), which ProtectProc= of systemd sets, hides the first process from ordinary users.
        guard access("/proc/1/status", R_OK) == 0 else { return .own }
        return showsHost && RunningProcess.showsSockets(of: 1) ? .sockets : .names
    }

    /// Whether no process of the host is outside the PID namespace of this one.
    ///
    /// The kernel's PID_NS_INIT_INO.
    package static var showsHost: Bool {
        var target = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/ns/pid", &target, target.count)
        return count > 0 && target[..<count].map { UInt8(bitPattern: $0) } == Array("pid:[4026531836]".utf8)
    }
}
