// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability

/// Which network the functions ask about: the kernel's, or one that a test puts behind them.
package enum NetworkInUse {
    /// The source of the targets that this task creates; `nil` for ``NetworkSource/kernel()``.
    ///
    /// A target keeps the source that it was created with. Bound to the task, so that tests which run at the same
    /// time do not see each other's.
    @TaskLocal package static var source: NetworkSource?
}
