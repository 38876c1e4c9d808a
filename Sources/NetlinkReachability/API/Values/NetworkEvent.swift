// SPDX-License-Identifier: Apache-2.0

/// An event of the machine or its monitor, other than a change of routes.
///
/// A connection pool checks its connections after each event: see ``NetworkQuery/events``.
public enum NetworkEvent: Hashable, Sendable, Codable {
    /// The machine slept for this time, and runs again.
    ///
    /// Remote hosts may have closed its connections meanwhile. Apple's counterpart is the power notification
    /// `kIOMessageSystemHasPoweredOn`.
    case slept(Duration)
    /// `/etc/resolv.conf`, `/etc/hosts` or the name servers of systemd-resolved were written. Names can have other
    /// addresses.
    ///
    /// The contents are not compared, and several writes can cause several events.
    case resolverConfigurationChanged
    /// The kernel dropped notifications, because the monitor could not read them in time.
    ///
    /// The monitor evaluates everything again. A program that tracks interfaces by other means has to read them
    /// again.
    case notificationsLost
}
