// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// When a recorder dumps again, because a router may prolong a route.
///
/// A router advertisement prolongs a route without a notification (`fib6_set_expires` in `ndisc_router_discovery` and
/// `addrconf_prefix_rcv`), so that a replay does not know the route from the end of the lifetime on that it knows. A
/// dump shortly before that end shows the new lifetime.
struct LifetimeSchedule {
    /// How long before the end of a lifetime a dump begins.
    static let lead = Duration.seconds(1)
    /// The most bytes of dumps a second, so that short lifetimes do not fill the disk.
    static let rate = 16_384

    /// When the first of the lifetimes ends.
    private var end: ContinuousClock.Instant?
    /// Before that no dump begins.
    private var earliest: ContinuousClock.Instant?

    /// When the next dump is due; `nil` while no route has a lifetime that a router can prolong.
    var due: ContinuousClock.Instant? {
        guard let end else { return nil }
        let wanted = end - Self.lead
        return earliest.map { max($0, wanted) } ?? wanted
    }

    /// Forgets the lifetimes, as a dump begins or is left out.
    mutating func forget() {
        end = nil
    }

    /// Takes the lifetime of a message of a dump, or of a notification.
    mutating func note(_ message: NetlinkMessage, at now: @autoclosure () -> ContinuousClock.Instant) {
        guard message.mayHaveLifetime, case .route(let route, _)? = message.change, route.mayBeProlonged,
            let rest = route.expires, rest > 0
        else { return }
        // A tick is 1/100 s.
        let new = now() + .milliseconds(10 * Int(rest))
        end = end.map { min($0, new) } ?? new
    }

    /// Takes the size of a dump that has ended.
    mutating func dumpEnded(bytes: Int, at now: ContinuousClock.Instant) {
        earliest = now + .seconds(1 + bytes / Self.rate)
    }
}

extension NetlinkMessage {
    /// Whether it is about an IPv6 route that can be a router's: the others, which can be a million, are not parsed.
    fileprivate var mayHaveLifetime: Bool {
        // `rtm_protocol` of `struct rtmsg`.
        let place = Self.headerLength + 5
        return DumpRequest.Table(of: self) == .routes && family == IPAddress.Family.v6.rawValue
            && bytes.count > place && Route.mayBeProlonged(origin: bytes[place])
    }
}
