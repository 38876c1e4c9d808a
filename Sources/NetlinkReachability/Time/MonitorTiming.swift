// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// The pauses and periods of the monitor.
///
/// Events come in bursts: a link that comes up causes a dozen within a few milliseconds, and some of their effects
/// follow within a second. The first event of a burst is evaluated at once, the rest together.
enum MonitorTiming {
    /// An event later than this after the last evaluation starts a new burst.
    static let leading = Duration.milliseconds(100)
    /// A burst ends when no event has come for this long.
    static let trailing = Duration.milliseconds(250)
    /// A burst that does not end is evaluated this often.
    static let burstLimit = Duration.seconds(1)
    /// The kernel notifies some losses before it removes the routes, and removes some without a notification.
    static let secondLook = Duration.milliseconds(250)
    /// The first pause after notifications were lost; it doubles with each further loss.
    static let overrunPause = Duration.milliseconds(50)
    /// The longest such pause; also the longest time to wait for the queue to be empty.
    static let overrunPauseLimit = Duration.seconds(2)
    /// After this time without a loss, the pause is the first one again.
    static let overrunMemory = Duration.seconds(30)
    /// Everything is evaluated this often, for changes that the kernel does not notify.
    static let safety = Duration.seconds(60)
    /// Everything is evaluated this often where a sandbox refuses notifications.
    static let polling = Duration.seconds(5)
    /// The kernel removes an IPv6 route a little after its last tick.
    static let expiryGrace = Duration.milliseconds(50)
    /// One tick of a route's lifetime: USER_HZ is 100 on every architecture of Linux in use.
    static let tick = Duration.milliseconds(10)
    /// The shortest time between two scans for expired routes.
    static let expirySpacing = Duration.milliseconds(100)
    /// The first pause after an evaluation failed; it doubles up to the limit.
    static let failurePause = Duration.seconds(1)
    /// The longest such pause.
    static let failurePauseLimit = Duration.seconds(30)
    /// The first pause after a name could not be resolved for now; it doubles up to the limit.
    static let resolutionPause = Duration.seconds(1)
    /// The longest such pause.
    static let resolutionPauseLimit = Duration.seconds(60)
    /// Programs write the resolver's files in several steps.
    static let resolverSettling = Duration.milliseconds(100)
    /// The machine has slept if its time asleep grows by at least this.
    static let sleepThreshold = Duration.seconds(1)
}
