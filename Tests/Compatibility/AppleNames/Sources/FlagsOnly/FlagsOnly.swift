// SPDX-License-Identifier: Apache-2.0

import SystemConfiguration

/// Whether a target with these flags can be reached.
public func isReachable(_ flags: SCNetworkReachabilityFlags) -> Bool {
    flags.contains(.reachable)
}
