// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A process as `/proc` describes it to all users.
package struct RunningProcess: Hashable, Sendable {
    /// Its number in the PID namespace of this process.
    package let identifier: Int32
    /// The name of its main thread (`/proc/PID/comm`), which can have any bytes.
    package let name: String
    /// The unit of systemd that it belongs to, such as `ssh.service`; `nil` for none.
    package let unit: String?

    /// Creates a process from its parts.
    package init(identifier: Int32, name: String, unit: String?) {
        (self.identifier, self.name, self.unit) = (identifier, name, unit)
    }

    /// Reads the name and the unit of a process; both are missing if it has ended.
    package init(reading identifier: Int32) {
        let comm = Self.text(of: "/proc/\(identifier)/comm")
        self.init(
            identifier: identifier,
            name: comm.hasSuffix("\n") ? String(comm.dropLast()) : comm,
            unit: Self.unit(inGroups: Self.text(of: "/proc/\(identifier)/cgroup")))
    }

    /// The numbers of all processes that `/proc` shows.
    package static func all() -> [Int32] {
        var found: [Int32] = []
        _ = forEachEntry(of: "/proc") { _, name in
            if let identifier = Int32(String(cString: name)) { found.append(identifier) }
        }
        return found
    }

    /// The number of a process in its innermost PID namespace, which it has for itself; `nil` if it cannot be read.
    package static func innermostIdentifier(of identifier: Int32) -> Int32? {
        for line in text(of: "/proc/\(identifier)/status").split(separator: "\n")
        where line.hasPrefix("NSpid:") {
            return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).last.flatMap { Int32($0) }
        }
        return nil
    }

    // MARK: Sockets

    /// The inodes of the sockets that a process has open; `nil` if they cannot be read, with the reason in `errno`.
    package static func socketInodes(of identifier: Int32) -> [UInt32]? {
        var inodes: [UInt32] = []
        // The folder can belong to this user, and its links not be for them: in a user namespace of their own.
        var refusal: Int32 = 0
        let isRead = forEachEntry(of: "/proc/\(identifier)/fd") { folder, descriptor in
            if let inode = socketInode(folder, descriptor, &refusal) { inodes.append(inode) }
        }
        if refusal != 0 { errno = refusal }
        return isRead && refusal == 0 ? inodes : nil
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

    /// The unit in the text of `/proc/PID/cgroup`: the innermost group that systemd made for one.
    ///
    /// The group is that of the unified hierarchy, or of systemd's own beside version 1.
    package static func unit(inGroups text: String) -> String? {
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
        return showsHost && RunningProcess.socketInodes(of: 1) != nil ? .sockets : .names
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
