// SPDX-License-Identifier: Apache-2.0

import Network

/// The status of the path, in words.
public func status(of path: NWPath) -> String {
    path.status == .satisfied ? "online" : "offline"
}

/// The status of the current path, in words.
public func currentStatus() -> String {
    status(of: NWPathMonitor().currentPath)
}
