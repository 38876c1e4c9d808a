// SPDX-License-Identifier: Apache-2.0

// Stays connected to 192.0.2.1, port 7777, prints a line for each connection and for the end that the network causes,
// and exits after the number of lines that the argument gives.

import Dispatch
import Glibc
import Synchronization

/// The number of lines left to print.
let left = Mutex(CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? .max)

@Sendable func say(_ line: String) {
    print(line)
    fflush(nil)
    left.withLock {
        $0 -= 1
        if $0 == 0 { exit(0) }
    }
}

/// Reads until the connection ends, on a thread that may block.
@Sendable func receive(_ descriptor: Int32) async {
    say("connected")
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while read(descriptor, &bytes, bytes.count) > 0 {}
            continuation.resume()
        }
    }
}

try await stayConnected(to: "192.0.2.1", port: 7_777, patience: .seconds(1), log: say, talk: receive)
