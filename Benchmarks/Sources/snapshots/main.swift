// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc
import NetlinkRoute

// `snapshots batch N` prints the routes for `ip -batch`; `snapshots run FILE` measures in the namespace that
// has them, and writes its recording to FILE. `snapshots lookups N` measures lookups alone, in routes that no
// kernel has to be filled with first. Words
// choose the duels that hold each of them in the question or in our side's name.

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.first, words.dropFirst().first) {
    case ("batch", let count?):
        RouteSet(count: Int(count) ?? 0).printBatch()
    case ("lookups", let count?):
        try runLookups(RouteSet(count: Int(count) ?? 0), words.dropFirst(2))
    case ("run", let file?):
        try run(file, words.dropFirst(2))
    default:
        fail("batch N | lookups N [WORD...] | run FILE [WORD...]")
    }
} catch {
    fail("\(error)")
}

func run(_ file: String, _ words: ArraySlice<String>) throws {
    let kernel = try KernelRouting()
    let use = try SnapshotUse(try kernel.snapshot())
    Table.printFigure("memory a route, bytes", use.bytesPerRoute, figure: 40)
    Table.printFigure("lookup of a random address, ns", try use.lookupTime(), figure: 40)
    Table.printFigure("the same, 1,000 at once, ns", try use.batchedLookupTime(), figure: 40)
    Table.printFigure("one route comes or goes, ns", try use.updateTime(), figure: 2_000)
    print()
    let duels = try SnapshotLoad(kernel, recordingTo: file).duels() + use.kernelDuels() + use.tableDuels()
    try Table.run(duels.filter { duel in words.allSatisfy { duel.matches($0) } })
}

func runLookups(_ routes: RouteSet, _ words: ArraySlice<String>) throws {
    let use = try SnapshotUse(routes.snapshot())
    Table.printFigure("lookup of a random address, ns", try use.lookupTime(), figure: 40)
    Table.printFigure("the same, 1,000 at once, ns", try use.batchedLookupTime(), figure: 40)
    try Table.run(try use.tableDuels().filter { duel in words.allSatisfy { duel.matches($0) } })
}

func fail(_ text: String) -> Never {
    let message = "snapshots: \(text)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
