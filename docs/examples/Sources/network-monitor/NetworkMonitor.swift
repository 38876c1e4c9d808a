// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NetlinkReachability

extension Notification.Name {
    /// Posted by ``NetworkMonitor`` on its queue, with the monitor as its object.
    static let connectivityStatusChanged = Notification.Name("connectivityStatusChanged")
}

/// What the whole program knows of the network.
final class NetworkMonitor: Sendable {
    static let shared = NetworkMonitor()

    private let queue = DispatchQueue(label: "NetworkMonitor")
    private let monitor = NetworkPathMonitor()

    /// The path: as it is now, started or not.
    var path: NetworkPath { monitor.currentPath }
    var isConnected: Bool { path.status != .unsatisfied }
    var isExpensive: Bool { path.isExpensive }
    /// The type of the interface that comes first.
    var connectionType: NetworkInterface.InterfaceType? { path.availableInterfaces.first?.type }

    private init() {}

    func start() {
        monitor.pathUpdateHandler = { _ in
            NotificationCenter.default.post(name: .connectivityStatusChanged, object: NetworkMonitor.shared)
        }
        monitor.start(queue: queue)
    }

    func stop() {
        monitor.cancel()
    }
}
