// SPDX-License-Identifier: Apache-2.0

import Glibc

// Measures one part in this process: Benchmarks/run makes the namespace, the files and the numbers that it takes.

let words = Array(CommandLine.arguments.dropFirst())
do {
    let number = words.dropFirst().first.flatMap { Int($0) } ?? 0
    switch (words.first ?? "", words.count) {
    case ("queries", 1): try Queries(Host()).run()
    case ("queries-alone", 1): try Queries(Host()).grow()
    case ("queries-together", 2): try Queries(Host()).grow(together: number)
    case ("peers", 1): try Peers.run()
    case ("processes", 3): try Processes(netflags: words[1], folder: words[2]).run()
    case ("hold-sockets", 2): try SocketHolder.hold(number: number)
    case ("routes", 2): RouteSet.printBatch(count: number)
    case ("snapshots", 2): try Snapshots(host: Host(), file: words[1]).run()
    case ("prediction", 2): try Snapshots(host: Host(), file: words[1]).predict(targets: 1_000)
    case ("latency", 1): try Latency(host: Host()).run()
    case ("handles", 1): try Handles(host: Host()).run()
    case ("handles", 2): try Handles(host: Host()).grow(to: number)
    case ("requesters", 1): try Requesters(host: Host()).run()
    case ("replay", 4):
        var replay = Replay(routes: number)
        try replay.run(words[3], events: Int(words[2]) ?? 0, targets: 100)
    default: throw Failure("not a part: \(words.joined(separator: " "))")
    }
} catch {
    let message = "benchmarks: \(error)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(1)
}
