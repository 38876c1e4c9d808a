// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A run of the built `netflags`, from its start to its end.
struct NetflagsProcess {
    /// The exit status and the output of a run.
    struct Result {
        /// The exit status; `nil` when a signal ended the process.
        let status: Int32?
        /// The signal that ended the process; 0 for none.
        let signal: Int32
        let output: String
        let errors: String

        var lines: [Substring] { output.split(separator: "\n") }
    }

    /// A system call of a test that failed.
    enum Failure: Error {
        case cannot(String, Int32)
    }

    /// The program, which is built beside the bundle of tests.
    static let path: String = {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? 0
            }
        }
        let own = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/netflags"
    }()

    /// Runs the program and waits for its end.
    ///
    /// Input and output are files, so neither side waits for the other.
    static func run(
        _ arguments: [String],
        input: [UInt8] = [],
        environment: [String] = []
    ) throws -> Result {
        let files = try (0..<3).map { _ in try MemoryFile() }
        try files[0].write(input)
        let process = try start(
            [path] + arguments,
            descriptors: files.map(\.descriptor),
            environment: environment
        )
        return try end(process, errors: files[2].text, output: files[1].text)
    }

    static func run(_ arguments: String..., input: String = "", environment: [String] = []) throws -> Result {
        try run(arguments, input: Array(input.utf8), environment: environment)
    }

    /// Runs a shell script in which `$0` is the program.
    static func run(script: String) throws -> Result {
        let (output, errors) = (try MemoryFile(), try MemoryFile())
        let process = try start(
            ["timeout", "60", "bash", "-c", script, path],
            descriptors: [0, output.descriptor, errors.descriptor]
        )
        return try end(process, errors: errors.text, output: output.text)
    }

    /// Starts a program with its descriptors and returns its process ID.
    static func start(
        _ command: [String],
        descriptors: [Int32],
        environment: [String] = []
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (place, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(place))
        }
        var arguments = copies(command)
        var variables = copies(inherited + environment)
        defer { for text in arguments + variables { free(text) } }
        // The threads that run tests block signals, and a background job of a shell ignores SIGINT: a program inherits
        // both.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var ends = sigset_t()
        for signal in [SIGINT, SIGTERM] { sigaddset(&ends, signal) }
        posix_spawnattr_setsigdefault(&attributes, &ends)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let status = posix_spawnp(&process, command[0], &actions, &attributes, &arguments, &variables)
        guard status == 0 else { throw Failure.cannot("start \(command[0])", status) }
        return process
    }

    /// Copies of texts, and the NULL at the end of a list in C.
    private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var copies: [UnsafeMutablePointer<CChar>?] = []
        for text in texts { copies.append(strdup(text)) }
        return copies + [nil]
    }

    /// The variables that a sanitized program needs, and none that changes output.
    private static let inherited: [String] = {
        let names: [String] = ["PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"]
        return names.compactMap { (name: String) in getenv(name).map { "\(name)=\(String(cString: $0))" } }
    }()

    /// Waits for a process.
    static func wait(_ process: pid_t) throws -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw Failure.cannot("wait", errno) }
        }
        return status
    }

    /// The peak memory of a running process, in KiB.
    ///
    /// The kernel's `ru_maxrss` would count the memory of the tests, of which the process was a copy.
    static func peakMemory(of process: pid_t) throws -> Int {
        guard let peak = Int(try status(of: process, "VmHWM")) else {
            throw Failure.cannot("read the peak", errno)
        }
        return peak
    }

    /// A value in the kernel's status of a process, without its unit.
    static func status(of process: pid_t, _ name: String) throws -> String {
        let file = open("/proc/\(process)/status", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = read(file, &bytes, bytes.count)
        let lines = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n")
        let words = lines.first { $0.hasPrefix("\(name):") }?.split { $0 == " " || $0 == "\t" } ?? []
        guard words.count > 1 else { throw Failure.cannot("read \(name)", errno) }
        return String(words[1])
    }

    /// Waits for a process and reads its output.
    static func end(
        _ process: pid_t,
        errors: () throws -> String = { "" },
        output: () throws -> String = { "" }
    ) throws -> Result {
        let status = try wait(process)
        let signal = status & 0x7F
        return Result(
            status: signal == 0 ? (status >> 8) & 0xFF : nil,
            signal: signal,
            output: try output(),
            errors: try errors()
        )
    }
}

/// A file without a name, deleted with the value.
final class MemoryFile {
    let descriptor: Int32

    init() throws {
        var path = Array("/tmp/netflags-test-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw NetflagsProcess.Failure.cannot("make a file", errno) }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(descriptor)
    }

    /// Writes the file and leaves the offset at its start.
    func write(_ bytes: [UInt8]) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, written)
            }
            guard count > 0 else { throw NetflagsProcess.Failure.cannot("write", errno) }
            written += count
        }
    }

    /// The whole content.
    func bytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, bytes.count)
            guard count >= 0 else { throw NetflagsProcess.Failure.cannot("read", errno) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    func text() throws -> String {
        String(decoding: try bytes(), as: UTF8.self)
    }
}

/// A pair of connected descriptors: what is written to one can be read from the other.
struct Pipe: ~Copyable {
    let readEnd: Int32
    private(set) var writeEnd: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw NetflagsProcess.Failure.cannot("make a pair of sockets", errno)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    mutating func closeWriteEnd() {
        close(writeEnd)
        writeEnd = -1
    }

    /// Reads a line with its newline, or the rest when the other end is closed.
    func line() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(readEnd, &byte, 1) == 1 {
            bytes.append(byte)
            if byte == UInt8(ascii: "\n") { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes the whole text.
    func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(writeEnd, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    deinit {
        close(readEnd)
        if writeEnd >= 0 { close(writeEnd) }
    }
}
