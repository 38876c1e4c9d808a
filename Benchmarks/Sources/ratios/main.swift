// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

// Both sides of each figure in one run. Words on the command line choose the duels that hold each of them in the
// question or in our side's name.
//
// `ratios question` measures `flags()` alone, and `ratios targets N` asks about N addresses together.

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.first, words.dropFirst().first.flatMap { Int($0) }) {
    case ("question", nil): try Table.run([try LiveLookup().question()])
    case ("targets", let number?): try Table.run([try LiveLookup().together(targets: number)])
    default:
        let duels = try LiveLookup().duels() + Peers().duels()
        try Table.run(duels.filter { duel in words.allSatisfy { duel.matches($0) } })
    }
} catch {
    let message = "ratios: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
