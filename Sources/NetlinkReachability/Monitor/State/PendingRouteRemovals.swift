// SPDX-License-Identifier: Apache-2.0

/// Routes of which the kernel has said that they go, and that may not have gone yet.
///
/// It announces the end of an IPv4 route and then takes it out. Whoever asks at once, on another processor, can get
/// the old answer, and no further announcement comes.
struct PendingRouteRemovals: Sendable {
    private var prefixes = SmallPrefixSet()
    /// Those that came while others were waited for.
    private var later = SmallPrefixSet()
    /// When to ask about them again; `nil` when there are none.
    private(set) var due: MonitorInstant?

    /// The number of prefixes.
    var count: Int { prefixes.count + later.count }

    /// Remembers a prefix, for long enough.
    mutating func note(_ prefix: IPPrefix, at now: MonitorInstant) {
        if due == nil {
            due = now + MonitorTiming.secondLook
            prefixes.insert(prefix)
        } else {
            later.insert(prefix)
        }
    }

    /// Hands out what is due.
    mutating func take(at now: MonitorInstant) -> SmallPrefixSet? {
        guard let due, due <= now else { return nil }
        defer {
            (prefixes, later) = (later, SmallPrefixSet())
            self.due = prefixes.count == 0 ? nil : now + MonitorTiming.secondLook
        }
        return prefixes
    }
}
