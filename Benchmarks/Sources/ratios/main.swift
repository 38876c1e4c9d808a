// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

// Both sides of each figure in one run. Words on the command line choose the duels that hold
// each of them in the question or in our side's name.

let words = CommandLine.arguments.dropFirst()
do {
    let duels = try LiveLookup().duels() + RouteDump().duels()
    try Table.run(
        duels.filter { duel in words.allSatisfy { duel.matches($0) } }
    )
} catch {
    let message = "ratios: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
