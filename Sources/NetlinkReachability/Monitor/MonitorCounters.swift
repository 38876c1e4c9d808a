// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What the monitor of a network source had done, and what had gone wrong, when the counters were read.
///
/// No counter calls for action: the monitor recovers from everything that is counted here. The numbers explain why a
/// monitor is busy or late.
public struct MonitorCounters: Hashable, Sendable {
    /// Kernel notifications that were read.
    public internal(set) var notifications: UInt64 = 0
    /// Times that the kernel dropped notifications, after which everything is evaluated again.
    public internal(set) var overruns: UInt64 = 0
    /// Datagrams from a process other than the kernel, which are ignored.
    public internal(set) var spoofed: UInt64 = 0
    /// Datagrams that were larger than the buffer; each counts as an overrun too.
    public internal(set) var truncated: UInt64 = 0
    /// Notifications that were cut or malformed.
    public internal(set) var malformed: UInt64 = 0
    /// Multicast groups that a sandbox refuses; with any, everything is evaluated every 5 s.
    public internal(set) var refusedGroups: UInt64 = 0
    /// Times that everything was evaluated only because notifications are refused.
    public internal(set) var polls: UInt64 = 0
    /// Evaluations of targets and paths.
    public internal(set) var evaluations: UInt64 = 0
    /// Evaluations that failed and are tried again.
    public internal(set) var failures: UInt64 = 0
    /// Results that differed from the previous one.
    ///
    /// Includes results that a pending `wait` received and ignored.
    public internal(set) var deliveries: UInt64 = 0
    /// Names that the resolver was asked for.
    public internal(set) var resolutions: UInt64 = 0
    /// Names that the resolver could not resolve for now, or not in time.
    public internal(set) var failedResolutions: UInt64 = 0
    /// Answers of the resolver that were dropped, because the name was resolved again meanwhile or is not watched.
    public internal(set) var lateResolutions: UInt64 = 0
    /// Times that the machine was found to have slept.
    public internal(set) var sleeps: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}

extension MonitorCounters {
    /// Copies the counters of a feed.
    mutating func take(_ feed: FeedCounters) {
        notifications = feed.messages
        overruns = feed.overruns
        spoofed = feed.spoofed
        truncated = feed.truncated
        malformed = feed.malformed
    }

    /// Adds what one thread has counted between two times.
    mutating func add(_ new: MonitorCounters, after old: MonitorCounters) {
        notifications += new.notifications - old.notifications
        overruns += new.overruns - old.overruns
        spoofed += new.spoofed - old.spoofed
        truncated += new.truncated - old.truncated
        malformed += new.malformed - old.malformed
        polls += new.polls - old.polls
        evaluations += new.evaluations - old.evaluations
        failures += new.failures - old.failures
        deliveries += new.deliveries - old.deliveries
        resolutions += new.resolutions - old.resolutions
        failedResolutions += new.failedResolutions - old.failedResolutions
        lateResolutions += new.lateResolutions - old.lateResolutions
        sleeps += new.sleeps - old.sleeps
        // Not a sum: the state of the newest thread.
        refusedGroups = new.refusedGroups
    }
}
