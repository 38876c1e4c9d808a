// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NetlinkReachability
import Synchronization

extension Notification.Name {
    /// Posted by ``NetworkMonitor`` on its queue, with the monitor as the object.
    static let connectivityStatusChanged = Notification.Name("connectivityStatusChanged")
}

/// The state of the network, shared by the whole program.
final class NetworkMonitor: Sendable {
    static let shared = NetworkMonitor()

    private let queue = DispatchQueue(label: "NetworkMonitor")
    private let observation = Mutex<NetworkObservation<NetworkPath>?>(nil)

    /// The current path, before and after the start; `nil` if it cannot be found.
    var path: NetworkPath? {
        observation.withLock { $0?.current } ?? (try? NetworkSource.kernel.blockingValue(of: .path()))
    }
    var isConnected: Bool { path.map { $0.status != .unsatisfied } ?? false }
    var isExpensive: Bool { path?.isExpensive ?? false }
    /// The type of the preferred interface.
    var connectionType: NetworkInterface.InterfaceType? { path?.availableInterfaces.first?.type }

    private init() {}

    func start() throws {
        let begun = try NetworkSource.kernel.observe(.path(), on: .queue(queue)) { _ in
            NotificationCenter.default.post(name: .connectivityStatusChanged, object: NetworkMonitor.shared)
        }
        observation.withLock { $0 = begun }
    }

    func stop() {
        observation.withLock { $0 = nil }
    }
}
