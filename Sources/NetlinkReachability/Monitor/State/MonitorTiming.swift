// SPDX-License-Identifier: Apache-2.0

/// How long the monitor waits for what.
///
/// Events come in bursts: a link that comes up sends a dozen within a few milliseconds, and some of what they
/// lead to follows within a second. The first event of a burst is answered at once, the rest together.
enum MonitorTiming {
    /// An event that comes later than this after the last answer starts a burst of its own.
    static let leading = Duration.milliseconds(100)
    /// A burst is over when nothing has come for this long.
    static let trailing = Duration.milliseconds(250)
    /// A burst without an end is answered this often.
    static let burstLimit = Duration.seconds(1)
    /// The kernel announces some losses before it takes the routes out, and takes some out in silence.
    static let secondLook = Duration.milliseconds(250)
    /// The first pause after announcements were lost; it doubles with each further loss.
    static let overrunPause = Duration.milliseconds(50)
    /// The longest such pause; also how long a queue may take to run empty.
    static let overrunPauseLimit = Duration.seconds(2)
    /// After so long without a loss the pause is the first one again.
    static let overrunMemory = Duration.seconds(30)
    /// Everything is asked again this often, for whatever no kernel announces.
    static let safety = Duration.seconds(60)
    /// The same where a sandbox keeps announcements back.
    static let polling = Duration.seconds(5)
    /// An IPv6 route's lifetime ends in the kernel a little after its last tick.
    static let expiryGrace = Duration.milliseconds(50)
    /// One tick of a route's lifetime: USER_HZ is 100 on every architecture of Linux in use.
    static let tick = Duration.milliseconds(10)
    /// How often ended lifetimes are looked for at the most.
    static let expirySpacing = Duration.milliseconds(100)
    /// The first pause after a question failed; it doubles up to the limit.
    static let failurePause = Duration.seconds(1)
    /// The longest such pause.
    static let failurePauseLimit = Duration.seconds(30)
    /// The first pause after a name failed to resolve for now; it doubles up to the limit.
    static let resolutionPause = Duration.seconds(1)
    /// The longest such pause.
    static let resolutionPauseLimit = Duration.seconds(60)
    /// Programs write the resolver's files in several steps.
    static let resolverSettling = Duration.milliseconds(100)
    /// A clock that jumps ahead by this much tells of sleep.
    static let sleepThreshold = Duration.seconds(1)
}
