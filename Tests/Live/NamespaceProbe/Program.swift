// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A program that runs where the probe runs, such as `ip`.
struct Program {
    private let command: [String]
    private let input: String

    init(_ command: [String], input: String = "") throws {
        guard !command.isEmpty else { throw Probe.Failure("run PROGRAM ARGUMENT...") }
        self.command = command
        self.input = input
    }

    /// One `ip` with some options that runs lines until one fails.
    static func ip(_ options: [String] = [], lines: [String]) throws -> Program {
        try Program(["ip"] + options + ["-batch", "-"], input: lines.map { $0 + "\n" }.joined())
    }

    /// Runs the program to its end.
    ///
    /// - Returns: Its exit status and all that it wrote, to either output.
    func run() throws -> [String] {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Probe.Failure.system("pipe") }
        // The probe starts one program at a time, so no other program inherits them.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let child: pid_t
        do {
            defer { close(ends[1]) }
            let file = try inputFile()
            defer { close(file) }
            child = try spawn(input: file, output: ends[1])
        }
        let output = Self.readAll(ends[0])
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw Probe.Failure.system("waitpid") }
        }
        let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
        return ["\(code)", output]
    }

    /// The program's input, in a file without a name: a pipe would have to be filled while the output is read.
    ///
    /// The probe's own input carries the tests' commands, which a child must not read.
    private func inputFile() throws -> Int32 {
        guard !input.isEmpty else { return open("/dev/null", O_RDONLY | O_CLOEXEC) }
        var template = Array("/tmp/netlink-input-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw Probe.Failure.system("mkstemp") }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        unlink(template)
        let bytes = Array(input.utf8)
        guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { throw Probe.Failure.system("pwrite") }
        return file
    }

    private func spawn(input: Int32, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // The parent can have blocked signals, and a program that inherits them cannot be terminated.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let status = posix_spawnp(&child, command[0], &actions, &attributes, &arguments, environ)
        guard status == 0 else {
            throw Probe.Failure("\(command[0]): \(String(cString: strerror(status)))")
        }
        return child
    }

    /// Reads a descriptor to its end.
    static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
