// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability

/// The network that the functions evaluate: the kernel's, or that of a test.
package enum NetworkInUse {
    /// The source of the targets that this task creates; `nil` for ``NetworkSource/kernel()``.
    ///
    /// A target keeps the source that it was created with. The value is local to the task, so tests that run at the
    /// same time do not share it.
    @TaskLocal package static var source: NetworkSource?
}
