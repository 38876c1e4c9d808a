// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A network namespace of a test's own: a thread that has left the process's.
///
/// A namespace is entered by threads. Sockets that the thread opens and commands that it runs are in there.
package enum ThreadNamespace {
    /// Whether this process may make namespaces; `unshare -Ur swift test` may where root is not at hand.
    package static let isAvailable: Bool = (try? run { true }) == true

    package static let reason = "needs CAP_SYS_ADMIN for a network namespace: run `unshare -Ur swift test`"

    package struct Refusal: Error {
        let number: Int32
    }

    /// `unshare(CLONE_NEWNET)`, which Glibc's headers hide unless GNU extensions are asked for.
    private static func leaveNamespace() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { return false }
        return unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000) == 0
    }

    /// Runs a body on a thread in a new, empty network namespace, and waits for it.
    package static func run<Result>(_ body: () throws -> Result) throws -> Result {
        try OwnThread.run {
            // Dispatch's threads block all signals, and a command would inherit that: it could not be ended.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            guard leaveNamespace() else { throw Refusal(number: errno) }
            return try body()
        }
    }
}

/// A shell command, run in the calling thread's namespace.
package final class ShellCommand {
    private let stream: UnsafeMutablePointer<FILE>

    /// Whether the shell finds a tool.
    package static func has(_ tool: String) -> Bool {
        run("command -v \(tool)").status == 0
    }

    /// Runs a script to its end; its output and its errors are one text.
    package static func run(_ script: String) -> (status: Int32, output: String) {
        ShellCommand(script).finish()
    }

    /// A script that failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs a script that must succeed.
    package static func check(_ script: String) throws {
        let (status, output) = run("set -e; " + script)
        guard status == 0 else { throw Failure(description: "\(script): \(output)") }
    }

    /// Starts a script.
    package init(_ script: String) {
        guard let stream = popen("exec 2>&1 </dev/null; " + script, "r") else { fatalError("no shell") }
        self.stream = stream
    }

    /// Can be read once the script writes something, or is over.
    package var descriptor: Int32 {
        fileno(stream)
    }

    /// Reads all that the script writes, and waits for its end.
    package func finish() -> (status: Int32, output: String) {
        var bytes: [UInt8] = []
        while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        let status = pclose(stream)
        return (
            status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f,
            String(decoding: bytes, as: UTF8.self)
        )
    }

    /// The number of lines that a script prints.
    package static func lines(_ script: String) -> Int {
        run(script).output.split(separator: "\n").count
    }

    /// The command line tool of this package, which is built beside the tests.
    package static var netflags: String {
        let own = (try? String(decoding: readLink("/proc/self/exe"), as: UTF8.self)) ?? ""
        return own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            + "/netflags"
    }

    private static func readLink(_ path: String) throws -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink(path, &buffer, buffer.count)
        return buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
    }
}
