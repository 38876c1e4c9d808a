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

/// A message about an interface, which can be partial.
///
/// Wi-Fi drivers notify scans with messages of two attributes, and IPv6 and bridges send messages of the same
/// type. An attribute that is missing there has not changed.
package struct LinkReport: Hashable, Sendable {
    /// The interface, with the attributes of the message.
    package var link: Link
    /// Whether the message describes the whole interface.
    package var isWhole: Bool

    /// Wraps the contents of a message.
    package init(_ link: Link, isWhole: Bool = true) {
        self.link = link
        self.isWhole = isWhole
    }

    /// The interface after this message.
    ///
    /// Every message has the state bits and the type. Of the other attributes of a partial one only the name can be
    /// distinguished from an omission.
    package func merged(into known: Link?) -> Link {
        guard !isWhole, var merged = known else {
            var link = link
            // Settings are part of dumps and of most notifications.
            if let known { link.settings.fill(from: known.settings) }
            return link
        }
        merged.flags = link.flags
        merged.hardwareType = link.hardwareType
        if !link.name.isEmpty { merged.name = link.name }
        return merged
    }
}
