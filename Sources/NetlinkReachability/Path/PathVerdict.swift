// SPDX-License-Identifier: Apache-2.0

/// A path with the reason of its flags.
package struct PathVerdict: Hashable, Sendable {
    /// The path, with costs that the kernel knows only.
    package var path: NetworkPath
    /// The reason of the default path's flags.
    package var reason: ReachabilityReason
}
