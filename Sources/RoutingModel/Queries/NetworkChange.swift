// SPDX-License-Identifier: Apache-2.0

/// One kernel message about the network, from a dump or a notification.
package enum NetworkChange: Hashable, Sendable {
    /// An interface exists or has changed.
    case link(LinkReport)
    /// An interface was removed.
    case removedLink(index: UInt32)
    /// An address exists or has changed.
    case address(InterfaceAddress)
    /// An address was removed.
    case removedAddress(InterfaceAddress)
    /// A neighbour exists or has changed.
    case neighbour(Neighbour)
    /// A neighbour was removed.
    case removedNeighbour(Neighbour.Key)
    /// A nexthop object exists or has changed.
    case nexthop(NexthopObject)
    /// A nexthop object was removed.
    case removedNexthop(id: UInt32)
    /// A route exists or has changed.
    case route(Route, RoutePlacement)
    /// A route was removed.
    case removedRoute(Route)
    /// A rule exists.
    case rule(Rule)
    /// A rule was removed.
    case removedRule(Rule)
    /// The settings of an interface or of all interfaces.
    case settings(SettingsReport)
}

/// The position of a route among routes with the same prefix and metric.
///
/// The kernel's counterpart is in `nlmsg_flags` of RTM_NEWROUTE.
package enum RoutePlacement: Hashable, Sendable {
    /// After the others: in a dump, and with NLM_F_APPEND or NLM_F_EXCL.
    case last
    /// Before the others: with only NLM_F_CREATE. IPv6 does not support this and puts the route last.
    case first
    /// In place of another route: with NLM_F_REPLACE. No message reports the removal of the other route.
    case replacing
}

/// The effect of a notification: not the new state, only what has to be queried again.
package enum KernelNotification: Hashable, Sendable {
    /// A change of an interface. It is a loss if the interface is removed, down or without a carrier.
    ///
    /// The kernel may also remove routes through it, without a notification and slightly later.
    case link(isLoss: Bool)
    /// A change of an interface's address. It is a loss if the address is removed.
    case address(isLoss: Bool)
    /// A change of a route, for the addresses in a prefix.
    case route(IPPrefix)
    /// A route to a prefix is being removed. Lookups may still return it for a moment.
    case routeRemoval(IPPrefix)
    /// A change of a policy rule.
    case rule
    /// A change of a nexthop object and the routes that use it. It is a loss if the object is removed.
    case nexthop(isLoss: Bool)
    /// A change of a setting of one interface or of all.
    case settings
    /// A change of the neighbour with an address, after ``ChangeFeed/followNeighbours()``.
    case neighbour(IPAddress)
}

/// The result of reading notifications.
package enum FeedReading: Hashable, Sendable {
    /// Notifications were delivered.
    case changes
    /// No notification is queued.
    case empty
    /// Notifications were lost.
    ///
    /// Read until ``empty``, then query everything again: until then, further notifications can be lost unnoticed.
    case overrun
}

/// Counters of messages and errors since a feed was opened.
package struct FeedCounters: Hashable, Sendable {
    /// Messages that were delivered or ignored.
    package var messages: UInt64 = 0
    /// How often notifications were lost.
    package var overruns: UInt64 = 0
    /// Datagrams whose sender was not the kernel.
    package var spoofed: UInt64 = 0
    /// Datagrams that did not fit into the buffer.
    package var truncated: UInt64 = 0
    /// Messages that were longer than their datagram.
    package var malformed: UInt64 = 0

    /// Creates counters that are all zero.
    package init() {}
}

/// A source of notifications: the live kernel, or a script in a test.
///
/// Used by one thread at a time.
package protocol ChangeFeed: AnyObject, Sendable {
    /// A descriptor that becomes readable when there are notifications. The feed owns it.
    var descriptor: Int32 { get }
    /// The number of notification groups that could not be joined. If there are any, the caller must poll.
    var refusedGroups: Int { get }
    /// The counters so far.
    var counters: FeedCounters { get }

    /// Reads some notifications without waiting, and passes each to the body.
    func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading

    /// Also reads notifications of neighbours from now on. By default, a feed always delivers them.
    ///
    /// - Returns: Whether the group could be joined. If not, the caller must poll.
    func followNeighbours() -> Bool

    /// Opens a feed of closed sockets; `nil` if there is none, and by default.
    func closings() -> (any ClosingFeed)?
}

/// A source of closed sockets.
///
/// Used by one thread at a time.
package protocol ClosingFeed: AnyObject, Sendable {
    /// A descriptor that becomes readable when a socket is closed. The feed owns it.
    var descriptor: Int32 { get }

    /// Reads closed sockets without waiting, about as many as the limit at most.
    func read(limit: Int) -> [ConnectedSocket]
}

extension ChangeFeed {
    package func closings() -> (any ClosingFeed)? { nil }

    package func followNeighbours() -> Bool { true }
}

extension Link {
    /// The notification that the kernel sends about the interface.
    package var notification: KernelNotification {
        .link(isLoss: !flags.isSuperset(of: [.up, .running, .lowerUp]))
    }
}
