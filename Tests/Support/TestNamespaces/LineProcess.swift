// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// A child process that answers each line with one line.
///
/// The child ends with this object, or when the end of the test process closes its input.
final class LineProcess: Sendable {
    /// The longest wait for an answer in milliseconds, in case the process hangs.
    private static let patience: Int32 = 120_000

    let identifier: pid_t
    private let descriptor: Int32
    private let unread = Locked<[UInt8]>([])

    /// Starts a program, found along PATH.
    ///
    /// One socket is the input and both outputs of the program.
    init(_ command: [String]) throws(NamespaceFailure) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .system("socketpair") }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for standard in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_adddup2(&actions, ends[1], standard)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let status = posix_spawnp(&child, command[0], &actions, nil, &arguments, environ)
        guard status == 0 else {
            close(ends[0])
            throw NamespaceFailure("\(command[0]): \(String(cString: strerror(status)))")
        }
        identifier = child
        descriptor = ends[0]
    }

    deinit {
        kill(identifier, SIGKILL)
        while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
        close(descriptor)
    }

    /// Sends a line, if any, and waits for the answer.
    func ask(_ line: String?) throws(NamespaceFailure) -> String {
        // One exchange at a time, as answers arrive in the order of the queries.
        try unread.withLock { (unread) throws(NamespaceFailure) in
            if let line { try send(line + "\n") }
            return try receive(&unread)
        }
    }

    private func send(_ text: String) throws(NamespaceFailure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("write to process \(identifier)") }
            rest = rest.dropFirst(count)
        }
    }

    private func receive(_ unread: inout [UInt8]) throws(NamespaceFailure) -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, Self.patience)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { throw NamespaceFailure("process \(identifier) does not answer") }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw NamespaceFailure("the process has ended: \(String(decoding: unread, as: UTF8.self))")
            }
            unread += buffer[..<count]
        }
    }
}
