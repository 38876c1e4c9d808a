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
    /// Takes over what a feed counted.
    mutating func take(_ feed: FeedCounters) {
        announcements = feed.messages
        overruns = feed.overruns
        spoofed = feed.spoofed
        truncated = feed.truncated
        malformed = feed.malformed
    }

    /// Adds what one of several threads has counted between two times.
    mutating func add(_ new: MonitorCounters, after old: MonitorCounters) {
        announcements += new.announcements - old.announcements
        overruns += new.overruns - old.overruns
        spoofed += new.spoofed - old.spoofed
        truncated += new.truncated - old.truncated
        malformed += new.malformed - old.malformed
        // Not a count: how it is with the one that tells.
        refusedGroups = new.refusedGroups
        polls += new.polls - old.polls
        asked += new.asked - old.asked
        failed += new.failed - old.failed
        notified += new.notified - old.notified
        resolved += new.resolved - old.resolved
        lateResolutions += new.lateResolutions - old.lateResolutions
        sleeps += new.sleeps - old.sleeps
    }
}
