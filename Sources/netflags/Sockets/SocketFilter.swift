// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Which sockets `--state` selects.
enum SocketFilter: String, CaseIterable {
    case viable, waiting, lost, local, better

    /// Whether a result is listed; an error always is.
    func admits(_ result: Result<ConnectionStatus, ReachabilityError>) -> Bool {
        guard case .success(let status) = result else { return true }
        return self == .better ? status.hasBetterPath : status.state.rawValue == rawValue
    }
}
