// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

// Both sides of each figure in one run. Words on the command line choose the duels that hold
// each of them in the question or in our side's name.
//
// `ratios question` measures `flags()` alone, `ratios targets N` asks about N addresses together, and
// `ratios threads N` on N threads at once. `ratios ours N` and `ratios theirs N` only do the work of one side of
// `question`, for tools that count.

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.first, words.dropFirst().first.flatMap { Int($0) }) {
    case ("question", nil): try Table.run([try LiveLookup().question()])
    case ("ours", let number?): _ = try LiveLookup().question().ours.nanoseconds(number)
    case ("theirs", let number?): _ = try LiveLookup().question().theirs.nanoseconds(number)
    case ("targets", let number?): try Table.run([try LiveLookup().together(targets: number)])
    case ("threads", let number?): try Table.run([try LiveLookup().atOnce(threads: Int32(number))])
    default:
        let duels = try LiveLookup().duels() + RouteDump().duels() + Peers().duels()
        try Table.run(
            duels.filter { duel in words.allSatisfy { duel.matches($0) } }
        )
    }
} catch {
    let message = "ratios: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
