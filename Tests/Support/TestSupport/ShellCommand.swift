// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A shell command, run in the calling thread's namespace.
package final class ShellCommand {
    private let stream: UnsafeMutablePointer<FILE>

    /// Whether the shell finds a tool.
    package static func has(_ tool: String) -> Bool {
        run("command -v \(tool)").status == 0
    }

    /// Runs a script to its end; the output includes the error output.
    package static func run(_ script: String) -> (status: Int32, output: String) {
        ShellCommand(script).finish()
    }

    /// A script that failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs a script that must succeed.
    ///
    /// If the script fails, it kills its background program, whose number is in `P`: the program keeps the output open,
    /// which is read to its end.
    package static func check(_ script: String) throws {
        let (status, output) = run(
            "set -e; trap '[ $? = 0 ] || kill -9 $P 2>/dev/null || true' EXIT; " + script)
        guard status == 0 else { throw Failure(description: "\(script): \(output)") }
    }

    /// Starts a script.
    package init(_ script: String) {
        guard let stream = popen("exec 2>&1 </dev/null; " + script, "r") else { fatalError("no shell") }
        self.stream = stream
    }

    /// Readable when the script has written something or has ended.
    package var descriptor: Int32 {
        fileno(stream)
    }

    /// Reads the whole output of the script, and waits for its end.
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

    /// The path of the command line tool of this package, in the folder of the tests.
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
