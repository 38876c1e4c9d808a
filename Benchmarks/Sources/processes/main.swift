// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

// processes NETFLAGS PEAK FOLDER: the command line against iproute2's, both in one run.

do {
    let words = CommandLine.arguments
    guard words.count == 4 else {
        throw ChildProcess.Failure(description: "usage: processes NETFLAGS PEAK FOLDER")
    }
    let contest = Contest(netflags: words[1], peak: words[2], folder: words[3])
    try Table.run(try contest.duels())
    for row in try contest.peaks() { try Table.print(row) }
} catch {
    let message = "processes: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
