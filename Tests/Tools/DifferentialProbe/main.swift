// SPDX-License-Identifier: Apache-2.0

// Compares the running kernel with this package, in random networks of its own:
//
//     DifferentialProbe LOOKUPS [SEED [LOOKUPS-PER-NETWORK]]
//     DifferentialProbe witness TRIPLES [SEED [TRIPLES-PER-NETWORK]]
//     DifferentialProbe order SETS [SEED [SETS-PER-NETWORK]]
//     DifferentialProbe changes CHANGES [SEED]
//     DifferentialProbe links CHANGES [SEED]
//
// The first form compares RTM_GETROUTE with lookups in a snapshot. The second one compares connect(2) on a socket
// with the flags, and sockets to public addresses with the default path, its interfaces and its gateways. The third
// one compares the order of addresses with that of getaddrinfo. The fourth one predicts changes, makes them with
// ip(8), and compares the answers about some forty addresses each. The last one makes, names, ports and deletes
// interfaces, and compares the answers of the kernel with those of a dump after each change.
//
// Network number n of a run has the seed SEED + n. The output is lines of a word and its value: `seed`,
// `progress`, `undecided`, `exception`, `moved`, `agreed`, or `difference` with a small case and the commands that
// make its network. The exit status is 0 when both sides agree, 1 after a difference, 2 when no network could be
// made, and 128 and the signal after SIGINT or SIGTERM, which print the results so far.

internal import Glibc
internal import TestSupport

var words = CommandLine.arguments.dropFirst()
let mode = ["witness", "order", "changes", "links"].contains(words.first) ? words.removeFirst() : ""
let numbers = words.map { UInt64($0) }
guard !numbers.contains(nil), (1...3).contains(numbers.count), let count = numbers[0],
    count <= UInt64(Int.max)
else {
    print("usage: DifferentialProbe [witness|order|changes|links] COUNT [SEED [COUNT-PER-NETWORK]]")
    exit(2)
}
let seed = (numbers.count > 1 ? numbers[1] : nil) ?? UInt64.random(in: 0...UInt64(UInt32.max))
let perNetwork = max(
    1, Int(clamping: (numbers.count > 2 ? numbers[2] : nil) ?? (mode.isEmpty ? 10_000 : 100)))
Interruption.prepare()
var run: any Run =
    switch mode {
    case "witness": WitnessRun(seed: seed, triples: Int(count), perNetwork: perNetwork)
    case "changes": ChangeRun(seed: seed, changes: Int(count))
    case "links": LinkRun(seed: seed, changes: Int(count))
    case "order": OrderRun(seed: seed, sets: Int(count), perNetwork: perNetwork)
    default: LookupRun(seed: seed, lookups: Int(count), perNetwork: perNetwork)
    }
exit(run.execute())
