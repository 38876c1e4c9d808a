// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc
import NetlinkRoute

// `snapshots batch N` prints the routes for `ip -batch`. `snapshots run FILE` measures in the namespace that has
// them, and writes its recording to FILE. `snapshots lookups N` measures lookups alone, without a kernel that holds
// the routes. Words select the duels whose question or side contains each of them.

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
    let load = try SnapshotLoad(recordingTo: file)
    let use = try SnapshotUse(try load.read())
    try printFigures(use)
    let duels = try load.duels() + use.kernelDuels() + use.tableDuels()
    try Table.run(duels.filter { duel in words.allSatisfy { duel.matches($0) } })
}

func runLookups(_ routes: RouteSet, _ words: ArraySlice<String>) throws {
    let use = try SnapshotUse(routes.snapshot())
    try printFigures(use)
    try Table.run(try use.tableDuels().filter { duel in words.allSatisfy { duel.matches($0) } })
}

func printFigures(_ use: SnapshotUse) throws {
    try Table.print(Row("memory a route", use.bytesPerRoute, unit: "bytes", goal: .routeMemory))
    try Table.print(Row("memory an IPv6 prefix", use.bytesPerIPv6Prefix, unit: "bytes"))
    try Table.print(Row("one route comes or goes", try use.updateTime(), unit: "ns", goal: .update))
}

func fail(_ text: String) -> Never {
    let message = "snapshots: \(text)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
