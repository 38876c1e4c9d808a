// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A program to run from its start to its end, with its output thrown away.
struct ChildProcess {
    /// The program, looked for in PATH, and its arguments.
    let words: [String]
    /// The file that it reads as its standard input.
    var input = "/dev/null"
    /// The file that takes its standard output.
    var output = "/dev/null"

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Starts it and waits for its end.
    ///
    /// - Returns: The exit status; 128 and the signal's number where a signal ended it.
    @discardableResult
    func run() throws -> Int32 {
        var child = pid_t()
        let status = withFileActions { actions in
            withArguments { posix_spawnp(&child, words[0], &actions, nil, $0, environ) }
        }
        guard status == 0 else {
            throw Failure(description: "cannot start \(words[0]): \(String(cString: strerror(status)))")
        }
        var ending: Int32 = 0
        while waitpid(child, &ending, 0) < 0 {
            guard errno == EINTR else { throw Failure(description: "cannot wait for \(words[0])") }
        }
        let signal = ending & 0x7f
        return signal == 0 ? (ending >> 8) & 0xff : 128 + signal
    }

    private func withFileActions<Result>(
        _ body: (inout posix_spawn_file_actions_t) -> Result
    ) -> Result {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        return body(&actions)
    }

    private func withArguments<Result>(
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let arguments = words.map { strdup($0) }
        defer {
            for argument in arguments { free(argument) }
        }
        return body(arguments + [nil])
    }
}
