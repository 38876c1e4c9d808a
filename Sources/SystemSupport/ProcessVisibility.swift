// SPDX-License-Identifier: Apache-2.0

internal import Glibc

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
