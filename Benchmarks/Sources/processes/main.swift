// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

// processes NETFLAGS FOLDER: the command line against iproute2's, both in one run.

do {
    guard CommandLine.arguments.count == 3 else {
        throw ChildProcess.Failure(description: "usage: processes NETFLAGS FOLDER")
    }
    let contest = Contest(netflags: CommandLine.arguments[1], folder: CommandLine.arguments[2])
    try Table.run(try contest.duels())
} catch {
    let message = "processes: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
