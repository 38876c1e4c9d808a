// SPDX-License-Identifier: Apache-2.0

/// The pauses and periods of the monitor.
///
/// Events come in bursts: a link that comes up causes a dozen events within a few milliseconds, and some effects
/// follow within a second. The first event of a burst is evaluated at once, and the rest together.
enum MonitorTiming {
    /// An event starts a new burst if it comes later than this after the last evaluation.
    static let leading = Duration.milliseconds(100)
    /// A burst ends after this time without an event.
    static let trailing = Duration.milliseconds(250)
    /// How often a burst that does not end is evaluated.
    static let burstLimit = Duration.seconds(1)
    /// The time after which removals are evaluated again: the kernel sends some notifications before it removes the
    /// routes, and sends none for some removals.
    static let secondLook = Duration.milliseconds(250)
    /// The first pause after notifications were lost.
    ///
    /// It doubles with each further loss.
    static let overrunPause = Duration.milliseconds(50)
    /// The longest pause after a loss, and the longest time to wait for the queue to become empty.
    static let overrunPauseLimit = Duration.seconds(2)
    /// After this time without a loss, the pause is reset.
    static let overrunMemory = Duration.seconds(30)
    /// How often everything is evaluated for changes that the kernel does not notify of.
    static let safety = Duration.seconds(60)
    /// How often everything is evaluated if a sandbox refuses notifications.
    static let polling = Duration.seconds(5)
    /// The kernel removes an IPv6 route a little later than its last tick.
    static let expiryGrace = Duration.milliseconds(50)
    /// One tick of a route's lifetime: USER_HZ is 100 on every Linux architecture in use.
    static let tick = Duration.milliseconds(10)
    /// The shortest time between two scans for expired routes.
    static let expirySpacing = Duration.milliseconds(100)
    /// The first pause after a failed evaluation.
    ///
    /// It doubles up to the limit.
    static let failurePause = Duration.seconds(1)
    /// The longest pause after a failed evaluation.
    static let failurePauseLimit = Duration.seconds(30)
    /// The first pause after a name failed to resolve temporarily.
    ///
    /// It doubles up to the limit.
    static let resolutionPause = Duration.seconds(1)
    /// The longest pause after a failed resolution.
    static let resolutionPauseLimit = Duration.seconds(60)
    /// How long to wait after a change of the resolver's files, because programs write them in several steps.
    static let resolverSettling = Duration.milliseconds(100)
    /// The machine has slept if its time asleep grows by at least this.
    static let sleepThreshold = Duration.seconds(1)
}
