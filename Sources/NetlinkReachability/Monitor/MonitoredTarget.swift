// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A target with its options.
///
/// It is shared by the handle, its observations and the monitor.
final class MonitoredTarget: Sendable {
    let target: ReachabilityTarget
    /// Options other than the defaults, which need no memory.
    private let special: Box<ReachabilityOptions>?

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Box(options)
    }

    var options: ReachabilityOptions {
        special?.value ?? ReachabilityOptions()
    }

    /// The host name; `nil` if the target is not a name.
    var name: String? { target.name }

    /// The target itself if it has a name.
    var named: MonitoredTarget? { name == nil ? nil : self }
}
