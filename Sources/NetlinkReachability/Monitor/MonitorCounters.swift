// SPDX-License-Identifier: Apache-2.0

/// What the monitor of a network source has done so far, and what went wrong.
///
/// Nothing here needs an answer: whatever is lost is made up for. The numbers tell why a monitor is busy or late.
public struct MonitorCounters: Hashable, Sendable {
    /// Announcements of the kernel that were read.
    public var announcements: UInt64 = 0
    /// Times that the kernel dropped announcements, after which everything was asked again.
    public var overruns: UInt64 = 0
    /// Datagrams that another process sent and that were dropped.
    public var spoofed: UInt64 = 0
    /// Datagrams that did not fit into the buffer; each counts as a loss.
    public var truncated: UInt64 = 0
    /// Announcements that were cut or malformed.
    public var malformed: UInt64 = 0
    /// Kinds of announcements that a sandbox keeps back; when there are any, everything is asked every 5 s.
    public var refusedGroups: UInt64 = 0
    /// Times that everything was asked only because announcements are kept back.
    public var polls: UInt64 = 0
    /// Questions about targets.
    public var asked: UInt64 = 0
    /// Questions about targets that failed, and are asked again later.
    public var failed: UInt64 = 0
    /// Flags that differed from the last ones and that somebody was told about.
    public var notified: UInt64 = 0
    /// Names that were given to the resolver.
    public var resolved: UInt64 = 0
    /// Answers of the resolver that came too late to be wanted.
    public var lateResolutions: UInt64 = 0
    /// Times that the machine was found to have slept.
    public var sleeps: UInt64 = 0

    /// Starts at zero.
    public init() {}
}

extension MonitorCounters {
    /// Takes over what a feed counted, on top of what earlier feeds did.
    mutating func take(_ feed: FeedCounters, since base: MonitorCounters) {
        announcements = base.announcements + feed.messages
        overruns = base.overruns + feed.overruns
        spoofed = base.spoofed + feed.spoofed
        truncated = base.truncated + feed.truncated
        malformed = base.malformed + feed.malformed
    }
}
