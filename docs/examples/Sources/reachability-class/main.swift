// SPDX-License-Identifier: Apache-2.0

// Prints a line for each change of reachability, and exits after the number of lines that the argument gives.

import Dispatch
import Foundation

/// The number of lines left to print; used on the main queue.
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
