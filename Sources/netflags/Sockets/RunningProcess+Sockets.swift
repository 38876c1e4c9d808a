// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import NetlinkRoute
import SystemSupport

// The processes that have sockets open.
extension RunningProcess {
    /// The processes by the inodes of their sockets: of several, the one with the lowest number.
    ///
    /// Without privilege `/proc` shows the descriptors of the caller's processes only.
    ///
    /// - Parameter only: The only process to read; `nil` for all.
    /// - Returns: The processes.
    /// - Throws: ``ReachabilityError`` if the only process cannot be read.
    static func byInode(pid only: Int32?) throws(ReachabilityError) -> [UInt32: RunningProcess] {
        guard let only else { return byInode(ofAll: all()) }
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
        let process = RunningProcess(reading: only)
        return Dictionary(inodes.map { ($0, process) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the processes concurrently: the kernel takes microseconds for each descriptor.
    private static func byInode(ofAll pids: [Int32]) -> [UInt32: RunningProcess] {
        let processes = Locked<[UInt32: RunningProcess]>([:])
        forEachConcurrently(pids) { pid in
            // Some end meanwhile, or belong to other users.
            guard let inodes = socketInodes(of: pid), !inodes.isEmpty else { return }
            let process = RunningProcess(reading: pid)
            processes.withLock { processes in
                for inode in inodes where processes[inode].map({ pid < $0.identifier }) ?? true {
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

    /// The name with the number and the unit, such as `sshd/812 (ssh.service)`.
    var words: String { "\(name)/\(identifier)" + (unit.map { " (\($0))" } ?? "") }
}
