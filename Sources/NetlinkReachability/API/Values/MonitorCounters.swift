// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Counters of the work and the errors of a network source's monitor, at the time of reading.
///
/// No counter requires an action: the monitor recovers from everything that is counted here. The numbers explain
/// why a monitor is busy or late.
public struct MonitorCounters: Hashable, Sendable {
    /// Kernel notifications that were read.
    public internal(set) var notifications: UInt64 = 0
    /// How often the kernel dropped notifications.
    ///
    /// Everything is evaluated again after each time.
    public internal(set) var overruns: UInt64 = 0
    /// Datagrams from a process other than the kernel, which are ignored.
    public internal(set) var spoofed: UInt64 = 0
    /// Datagrams that were larger than the buffer.
    ///
    /// Each one also counts as an overrun.
    public internal(set) var truncated: UInt64 = 0
    /// Notifications that were cut or malformed.
    public internal(set) var malformed: UInt64 = 0
    /// Multicast groups that a sandbox refuses.
    ///
    /// If there is any, everything is evaluated every 5 s.
    public internal(set) var refusedGroups: UInt64 = 0
    /// How often everything was evaluated only because notifications are refused.
    public internal(set) var polls: UInt64 = 0
    /// Evaluations of targets and paths.
    public internal(set) var evaluations: UInt64 = 0
    /// Evaluations that failed and are tried again.
    public internal(set) var failures: UInt64 = 0
    /// Results that differed from the previous one.
    ///
    /// Includes results that a pending `wait` received and ignored.
    public internal(set) var deliveries: UInt64 = 0
    /// Names that the resolver was queried for.
    public internal(set) var resolutions: UInt64 = 0
    /// Resolutions that failed temporarily or timed out.
    public internal(set) var failedResolutions: UInt64 = 0
    /// Results of the resolver that were dropped, because the name was being resolved again or was no longer
    /// watched.
    public internal(set) var lateResolutions: UInt64 = 0
    /// How often the machine was found to have slept.
    public internal(set) var sleeps: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}

extension MonitorCounters {
    /// Copies the counters of a feed.
    mutating func copy(_ feed: FeedCounters) {
        notifications = feed.messages
        overruns = feed.overruns
        spoofed = feed.spoofed
        truncated = feed.truncated
        malformed = feed.malformed
    }

    /// Adds the difference between two readings of one thread's counters.
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
        // Not a sum: this is the state of the newest thread.
        refusedGroups = new.refusedGroups
    }
}
