// SPDX-License-Identifier: Apache-2.0

/// A nexthop that routes share by its number, alone or as a group of others.
///
/// The kernel's counterpart is RTM_NEWNEXTHOP (Linux 5.3 and later).
package struct NexthopObject: Hashable, Sendable {
    /// A member of a group and its share of the traffic.
    package struct Member: Hashable, Sendable {
        /// The member's number.
        package var id: UInt32
        /// The share, from 1.
        package var weight: UInt16

        /// Names a member.
        package init(id: UInt32, weight: UInt16 = 1) {
            self.id = id
            self.weight = weight
        }
    }

    /// What a nexthop does with packets.
    package enum Kind: Hashable, Sendable {
        /// Sends them one way.
        case single(Nexthop)
        /// Spreads them over other nexthops.
        case group([Member])
        /// Drops them.
        case blackhole
        /// Belongs to a bridge's forwarding table and to no route.
        case forwarding
    }

    /// The number, from 1.
    package var id: UInt32
    /// What it does.
    package var kind: Kind

    /// Describes a nexthop.
    package init(id: UInt32, kind: Kind) {
        self.id = id
        self.kind = kind
    }
}
