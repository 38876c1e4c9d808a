// SPDX-License-Identifier: Apache-2.0

// Prints a line for each notification, and exits after the number of lines that the argument gives.

import Dispatch
import Foundation

/// The state of the network in one line.
@Sendable func line(_ monitor: NetworkMonitor) -> String {
    guard monitor.isConnected else { return "not connected" }
    let type = monitor.connectionType.map { "\($0)" } ?? "nothing"
    return "connected over \(type)\(monitor.isExpensive ? ", expensive" : "")"
}

/// The number of lines left to print; used on the monitor's queue only.
nonisolated(unsafe) var left = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? .max

// The observer is added before the monitor starts, so it gets the first notification.
let observer = NotificationCenter.default.addObserver(
    forName: .connectivityStatusChanged, object: nil, queue: nil
) { notification in
    guard let monitor = notification.object as? NetworkMonitor else { return }
    print(line(monitor))
    fflush(nil)
    left -= 1
    if left == 0 { exit(0) }
}
try NetworkMonitor.shared.start()
dispatchMain()
