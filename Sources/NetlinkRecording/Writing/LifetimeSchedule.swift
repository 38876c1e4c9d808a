// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// When a recorder makes another dump because a router may prolong a route.
///
/// A router advertisement prolongs a route without a notification (`fib6_set_expires` in `ndisc_router_discovery` and
/// `addrconf_prefix_rcv`). From the end of the last known lifetime on, a replay would therefore not know the route. A
/// dump shortly before that end records the new lifetime.
struct LifetimeSchedule {
    /// How long before the end of a lifetime a dump begins.
    static let lead = Duration.seconds(1)
    /// The most bytes of such dumps per second, so that short lifetimes do not fill the disk.
    static let rate = 16_384

    /// The earliest end of a lifetime.
    private var end: ContinuousClock.Instant?
    /// The earliest time of the next dump.
    private var earliest: ContinuousClock.Instant?

    /// When the next dump is due; `nil` if there is no route whose lifetime a router can prolong.
    var due: ContinuousClock.Instant? {
        guard let end else { return nil }
        let wanted = end - Self.lead
        return earliest.map { max($0, wanted) } ?? wanted
    }

    /// Forgets the lifetimes, because a dump begins or is skipped.
    mutating func forget() {
        end = nil
    }

    /// Records the lifetime in a message of a dump or in a notification.
    mutating func record(_ message: NetlinkMessage, at now: @autoclosure () -> ContinuousClock.Instant) {
        guard message.mayHaveLifetime, case .route(let route, _)? = message.change, route.mayBeProlonged,
            let rest = route.expires, rest > 0
        else { return }
        // A tick is 1/100 s.
        let new = now() + .milliseconds(10 * Int(rest))
        end = end.map { min($0, new) } ?? new
    }

    /// Records the size of a completed dump.
    mutating func dumpEnded(bytes: Int, at now: ContinuousClock.Instant) {
        earliest = now + .seconds(1 + bytes / Self.rate)
    }
}

extension NetlinkMessage {
    /// Whether the message is about an IPv6 route that can come from a router.
    ///
    /// Other routes, up to a million, are not parsed.
    fileprivate var mayHaveLifetime: Bool {
        // `rtm_protocol` of `struct rtmsg`.
        let place = Self.headerLength + 5
        return DumpRequest.Table(of: self) == .routes && family == IPAddress.Family.v6.rawValue
            && bytes.count > place && Route.mayBeProlonged(origin: bytes[place])
    }
}
