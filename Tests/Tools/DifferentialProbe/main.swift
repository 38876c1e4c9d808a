// SPDX-License-Identifier: Apache-2.0

// Compares the running kernel with snapshots of it, in random networks of its own:
//
//     DifferentialProbe LOOKUPS [SEED [LOOKUPS-PER-NETWORK]]
//
// Network number n of a run has the seed SEED + n, so that it can be made again alone. What is written are
// lines of a word and what belongs to it: `seed`, `progress`, `undecided`, `moved`, `agreed`, or `difference`
// with a case that is as small as it gets. The exit status is 0 when all agree, 1 after a difference, and 2
// when no network could be made.

internal import Glibc

let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
guard !arguments.contains(nil), (1...3).contains(arguments.count), let lookups = arguments[0],
    lookups <= UInt64(Int.max)
else {
    print("usage: DifferentialProbe LOOKUPS [SEED [LOOKUPS-PER-NETWORK]]")
    exit(2)
}
let seed = (arguments.count > 1 ? arguments[1] : nil) ?? UInt64.random(in: 0...UInt64(UInt32.max))
let perNetwork = Int(clamping: (arguments.count > 2 ? arguments[2] : nil) ?? 10_000)
var run = Run(seed: seed, lookups: Int(lookups), perNetwork: max(1, perNetwork))
exit(run.execute())
