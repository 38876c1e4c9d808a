// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import SystemSupport

extension SystemCallError {
    /// What failed, why, and what to do, as the library words it.
    var message: String {
        ReachabilityError(.systemFailure, operation: operation, number: number).description
    }
}
