// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A parsed argument of `check`, `watch` and `wait`.
enum Operand: Hashable {
    /// A target and the text it was given as.
    case target(String, ReachabilityTarget)
    /// The targets on standard input.
    case standardInput
}

extension ReachabilityTarget {
    /// Whether the target has to be resolved.
    var isName: Bool {
        if case .host = kind { true } else { false }
    }
}
