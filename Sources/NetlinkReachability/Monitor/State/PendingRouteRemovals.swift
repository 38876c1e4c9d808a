// SPDX-License-Identifier: Apache-2.0

/// Routes whose removal the kernel has notified, and may not have finished.
///
/// The kernel notifies the removal of an IPv4 route before it removes it. A query on another processor can still
/// get the old answer, and no further notification comes.
struct PendingRouteRemovals: Sendable {
    private var prefixes = SmallSet<IPPrefix>()
    /// The prefixes that were added while the others were waited for.
    private var later = SmallSet<IPPrefix>()
    /// When to evaluate them again; `nil` if there are none.
    private(set) var due: MonitorInstant?

    /// The number of prefixes.
    var count: Int { prefixes.count + later.count }

    /// Adds a prefix, to be evaluated again after the kernel has removed its route.
    mutating func note(_ prefix: IPPrefix, at now: MonitorInstant) {
        if due == nil {
            due = now + MonitorTiming.secondLook
            prefixes.insert(prefix)
        } else {
            later.insert(prefix)
        }
    }

    /// Removes and returns what is due.
    mutating func take(at now: MonitorInstant) -> SmallSet<IPPrefix>? {
        guard let due, due <= now else { return nil }
        defer {
            (prefixes, later) = (later, SmallSet())
            self.due = prefixes.count == 0 ? nil : now + MonitorTiming.secondLook
        }
        return prefixes
    }
}
