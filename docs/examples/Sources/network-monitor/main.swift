// SPDX-License-Identifier: Apache-2.0

// Prints a line for each notification, and ends after as many as the argument says.

import Dispatch
import Foundation

/// What an observer gets, as a line.
@Sendable func line(_ monitor: NetworkMonitor) -> String {
    guard monitor.isConnected else { return "not connected" }
    let type = monitor.connectionType.map { "\($0)" } ?? "nothing"
    return "connected over \(type)\(monitor.isExpensive ? ", expensive" : "")"
}

/// Lines that may still be printed; used on the monitor's queue alone.
nonisolated(unsafe) var left = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? .max

// The observer is there before the monitor: nothing is missed.
let observer = NotificationCenter.default.addObserver(
    forName: .connectivityStatusChanged, object: nil, queue: nil
) { notification in
    guard let monitor = notification.object as? NetworkMonitor else { return }
    print(line(monitor))
    fflush(nil)
    left -= 1
    if left == 0 { exit(0) }
}
NetworkMonitor.shared.start()
dispatchMain()
