// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc
import NetlinkRoute

// `snapshots batch N` prints the routes for `ip -batch`. `snapshots run FILE` measures in the namespace that has
// them, and writes its recording to FILE.

let words = CommandLine.arguments.dropFirst()
do {
    switch (words.count, words.first, words.last) {
    case (2, "batch", let count?):
        RouteSet(count: Int(count) ?? 0).printBatch()
    case (2, "run", let file?):
        let load = try SnapshotLoad(recordingTo: file)
        let use = try SnapshotUse(try load.read())
        try Table.print(Row("memory a route", use.bytesPerRoute, unit: "bytes", goal: .routeMemory))
        try Table.run(try load.duels() + [use.duel()])
    default:
        fail("batch N | run FILE")
    }
} catch {
    fail("\(error)")
}

func fail(_ text: String) -> Never {
    let message = "snapshots: \(text)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
