// SPDX-License-Identifier: Apache-2.0

// Prints a line when the network can be reached and when not, and ends after as many as the argument says.

import Dispatch
import Foundation

/// Lines that may still be printed; used on the main queue.
nonisolated(unsafe) var left = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? .max

@Sendable func say(_ line: String) {
    print(line)
    fflush(nil)
    left -= 1
    if left == 0 { exit(0) }
}

let reachability = try Reachability()
reachability.whenReachable = { _ in say("reachable") }
reachability.whenUnreachable = { _ in say("not reachable") }
try reachability.start()
dispatchMain()
