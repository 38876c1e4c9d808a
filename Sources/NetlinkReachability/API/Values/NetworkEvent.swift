// SPDX-License-Identifier: Apache-2.0

/// Something that happened to the machine or its monitor, beside changes of routes.
///
/// A connection pool checks its connections after any of them: see ``NetworkQuery/events``.
public enum NetworkEvent: Hashable, Sendable, Codable {
    /// The machine slept for this time, and runs again.
    ///
    /// The other ends of its connections may have given them up meanwhile. Apple's counterpart is the power
    /// notification `kIOMessageSystemHasPoweredOn`.
    case slept(Duration)
    /// `/etc/resolv.conf`, `/etc/hosts` or the name servers of systemd-resolved were written: names can have other
    /// addresses.
    ///
    /// The content is not compared, and several writes can be several events.
    case resolverConfigurationChanged
    /// The kernel dropped notifications, because more changed than could be read in time.
    ///
    /// The monitor evaluates everything again. A program that keeps the state of interfaces by other means reads it
    /// again.
    case notificationsLost
}
