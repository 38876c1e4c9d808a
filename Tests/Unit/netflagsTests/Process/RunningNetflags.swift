// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestNamespaces

/// A `netflags` that runs in a namespace while a test changes the network there.
final class RunningNetflags {
    /// The time limit for a line, in milliseconds, for a process that hangs.
    private static let timeout: Int32 = 120_000

    let process: pid_t
    private var descriptor: Int32
    private var unread: [UInt8] = []
    private var isEnded = false
    private let errors: MemoryFile

    init(_ arguments: [String], in host: TestNamespace, withMounts: Bool = false) throws {
        var pipe = try Pipe()
        errors = try MemoryFile()
        var command = host.entering([NetflagsProcess.path] + arguments)
        // nsenter -t PROCESS -n: also its mounts, such as its own resolv.conf.
        if withMounts { command.insert("-m", at: 4) }
        let output = [0, pipe.writeEnd, errors.descriptor]
        process = try NetflagsProcess.start(command, descriptors: output)
        descriptor = fcntl(pipe.readEnd, F_DUPFD_CLOEXEC, 0)
        pipe.closeWriteEnd()
    }

    deinit {
        closeOutput()
        guard !isEnded else { return }
        kill(process, SIGKILL)
        _ = try? NetflagsProcess.wait(process)
    }

    /// The next line as JSON; `nil` at the end of the output.
    func row() throws -> JSONValue? {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...end) }
                guard let value = JSONValue(String(decoding: unread[..<end], as: UTF8.self)) else {
                    throw NetflagsProcess.Failure.cannot("read a line as JSON", 0)
                }
                return value
            }
            guard try readMore() else { return nil }
        }
    }

    /// Whether more was read than the lines that were taken.
    var hasUnread: Bool { !unread.isEmpty }

    private func readMore() throws -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Self.timeout) > 0 else {
            throw NetflagsProcess.Failure.cannot("wait for a line: \(try errors.text())", errno)
        }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &chunk, chunk.count)
        unread += chunk[..<max(0, count)]
        return count > 0
    }

    /// Closes the reader's end of the output.
    func closeOutput() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Sends a signal, if any, and waits for the end.
    func end(signal: Int32? = nil) throws -> NetflagsProcess.Result {
        if let signal { kill(process, signal) }
        isEnded = true
        return try NetflagsProcess.end(process, errors: errors.text)
    }

    /// Whether the process has ended; it stays until ``end(signal:)``.
    var hasEnded: Bool {
        var state = siginfo_t()
        return waitid(P_PID, id_t(process), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_signo != 0
    }

    /// The process's memory in use, in bytes.
    var residentBytes: Int {
        guard let file = fopen("/proc/\(process)/statm", "r") else { return 0 }
        defer { fclose(file) }
        var pages: (UInt, UInt) = (0, 0)
        let read = withUnsafeMutablePointer(to: &pages) { pages in
            pages.withMemoryRebound(to: UInt.self, capacity: 2) { pages in
                withVaList([pages, pages + 1]) { vfscanf(file, "%lu %lu", $0) }
            }
        }
        return read == 2 ? Int(pages.1) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    /// How many threads the process has.
    var threadCount: Int {
        guard let folder = opendir("/proc/\(process)/task") else { return 0 }
        defer { closedir(folder) }
        var count = -2
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
