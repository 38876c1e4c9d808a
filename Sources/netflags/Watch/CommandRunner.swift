// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import SystemSupport

/// Runs the command of `--exec` for each change, one at a time.
///
/// While a command runs, the newest line of each target is kept and older ones are dropped. The command gets the
/// line in its environment, /dev/null as its standard input, and the outputs of this process.
final class CommandRunner: Sendable {
    private let command: String
    /// The newest line of each waiting target.
    private let lines = Locked<[Int: TargetLine]>([:])
    /// The waiting commands, in the order in which they were submitted.
    private let queue = DispatchQueue(label: "netflags.exec")

    init(_ command: String) {
        self.command = command
    }

    /// Runs the command for a line, after the lines of other targets that were submitted earlier.
    func submit(_ line: TargetLine, of index: Int) {
        guard lines.withLock({ $0.updateValue(line, forKey: index) }) == nil else { return }
        queue.async {
            if let line = self.lines.withLock({ $0.removeValue(forKey: index) }) { self.run(line) }
        }
    }

    /// Waits until the command has run for every line submitted so far.
    func finish() {
        queue.sync {}
    }

    /// Runs the command for a line on this thread, and waits until it ends.
    func run(_ line: TargetLine) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)

        var arguments = Self.copies(["sh", "-c", command])
        var variables = Self.inherited() + Self.copies(environment(line))
        defer { for text in arguments + variables { free(text) } }
        var process = pid_t()
        let status = posix_spawn(&process, "/bin/sh", &actions, &attributes, &arguments, &variables)
        guard status == 0 else {
            return printError("cannot run the command of --exec: \(SystemCallError.message(status))")
        }
        var result: Int32 = 0
        while waitpid(process, &result, 0) < 0, errno == EINTR {}
    }

    /// Copies of texts, followed by NULL, as in a C array.
    private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0.fileName) } + [nil]
    }

    /// Copies of the variables of this process, which can contain any bytes, without variables that describe a line.
    private static func inherited() -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let text = next.pointee {
            if strncmp(text, "NETFLAGS_", 9) != 0 { variables.append(strdup(text)) }
            next += 1
        }
        return variables
    }

    /// The variables that describe the line.
    private func environment(_ line: TargetLine) -> [String] {
        [
            "NETFLAGS_TARGET=\(line.target)",
            "NETFLAGS_FLAGS=\(line.flags.names.joined(separator: ","))",
            "NETFLAGS_LETTERS=\(line.flags.letters)",
            "NETFLAGS_REACHABLE=\(isNetworkReachable(flags: line.flags) ? "yes" : "no")",
            "NETFLAGS_REASON=\(line.reason)",
        ] + ((try? line.evidence?.get()).map { ["NETFLAGS_EVIDENCE=\($0.verdict.rawValue)"] } ?? [])
    }
}
