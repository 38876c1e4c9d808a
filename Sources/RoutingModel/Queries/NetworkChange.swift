// SPDX-License-Identifier: Apache-2.0

/// One message of the kernel about the network, from a dump or a notification.
package enum NetworkChange: Hashable, Sendable {
    /// An interface exists or has changed.
    case link(LinkReport)
    /// An interface is gone.
    case removedLink(index: UInt32)
    /// An address exists or has changed.
    case address(InterfaceAddress)
    /// An address is gone.
    case removedAddress(InterfaceAddress)
    /// A neighbour exists or has changed.
    case neighbour(Neighbour)
    /// A neighbour is forgotten.
    case removedNeighbour(Neighbour.Key)
    /// A nexthop object exists or has changed.
    case nexthop(NexthopObject)
    /// A nexthop object is gone.
    case removedNexthop(id: UInt32)
    /// A route exists or has changed.
    case route(Route, RoutePlacement)
    /// A route is gone.
    case removedRoute(Route)
    /// A rule exists.
    case rule(Rule)
    /// A rule is gone.
    case removedRule(Rule)
    /// Settings of an interface or of all are so.
    case settings(FamilySettings)
}

/// Where a route stands among those that share its prefix and metric.
///
/// The kernel's counterpart is in `nlmsg_flags` of RTM_NEWROUTE.
package enum RoutePlacement: Hashable, Sendable {
    /// Behind the others: in a dump, and with NLM_F_APPEND or NLM_F_EXCL.
    case last
    /// Before the others: with NLM_F_CREATE alone. IPv6 has no such thing and puts it last.
    case first
    /// In the place of another: with NLM_F_REPLACE. No message says that the other is gone.
    case replacing
}

/// What a notification affects: not what is true now, only what to ask about again.
package enum KernelNotification: Hashable, Sendable {
    /// An interface; a loss when it is gone, down or without a carrier.
    ///
    /// The kernel may remove routes with it, without a notification and slightly later.
    case link(isLoss: Bool)
    /// An interface's address; a loss when it is gone.
    case address(isLoss: Bool)
    /// A route, for the addresses in a prefix.
    case route(IPPrefix)
    /// A route to a prefix is being removed: lookups may still return it for a moment.
    case routeRemoval(IPPrefix)
    /// A policy rule.
    case rule
    /// A nexthop object and the routes that use it; a loss when it is gone.
    case nexthop(isLoss: Bool)
    /// A setting of an interface or of all.
    case settings
    /// A neighbour with an address, after ``ChangeFeed/followNeighbours()``.
    case neighbour(IPAddress)
}

/// The result of reading notifications.
package enum FeedReading: Hashable, Sendable {
    /// Notifications were delivered.
    case changes
    /// Nothing is queued.
    case empty
    /// Notifications were lost.
    ///
    /// Read on until ``empty``, then ask everything again: until then further ones can be lost unnoticed.
    case overrun
}

/// Counts of what went wrong with notifications since a feed was opened.
package struct FeedCounters: Hashable, Sendable {
    /// Messages that were delivered or ignored.
    package var messages: UInt64 = 0
    /// Losses of notifications.
    package var overruns: UInt64 = 0
    /// Datagrams whose sender was not the kernel.
    package var spoofed: UInt64 = 0
    /// Datagrams that did not fit into the buffer.
    package var truncated: UInt64 = 0
    /// Messages whose length overran their datagram.
    package var malformed: UInt64 = 0

    /// Starts from zero.
    package init() {}
}

/// A source of notifications: the live kernel, or a script.
///
/// Used by one thread at a time.
package protocol ChangeFeed: AnyObject, Sendable {
    /// The descriptor that becomes readable when there is something to read; it stays the feed's.
    var descriptor: Int32 { get }
    /// The number of notification groups that could not be joined; if there are any, the caller must poll.
    var refusedGroups: Int { get }
    /// What has happened so far.
    var counters: FeedCounters { get }

    /// Reads some notifications without waiting and hands them out.
    func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading

    /// Reads notifications of neighbours too from now on; by default, they come anyway.
    ///
    /// - Returns: Whether the group could be joined; if not, the caller must poll.
    func followNeighbours() -> Bool

    /// Opens a feed of the sockets that are closed; `nil` where there is none, and by default.
    func closings() -> (any ClosingFeed)?
}

/// A source of the sockets that are closed.
///
/// Used by one thread at a time.
package protocol ClosingFeed: AnyObject, Sendable {
    /// The descriptor that becomes readable when a socket is closed; it stays the feed's.
    var descriptor: Int32 { get }

    /// Reads closed sockets without waiting; about as many as the limit at most.
    func read(limit: Int) -> [ConnectedSocket]
}

extension ChangeFeed {
    package func closings() -> (any ClosingFeed)? { nil }

    package func followNeighbours() -> Bool { true }
}

extension Link {
    /// The kernel's notification about it.
    package var notification: KernelNotification {
        .link(isLoss: !flags.isSuperset(of: [.up, .running, .lowerUp]))
    }
}
