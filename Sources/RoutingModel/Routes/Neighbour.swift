// SPDX-License-Identifier: Apache-2.0

/// A neighbour on a link, and whether it answers.
///
/// The kernel's counterpart is RTM_NEWNEIGH.
package struct Neighbour: Hashable, Sendable {
    /// The identity of a neighbour.
    package struct Key: Hashable, Sendable {
        /// The interface's index.
        package var interfaceIndex: UInt32
        /// The neighbour's address, without a zone.
        package var address: IPAddress

        /// Names a neighbour.
        package init(interfaceIndex: UInt32, address: IPAddress) {
            self.interfaceIndex = interfaceIndex
            self.address = address.withoutZone
        }
    }

    /// The identity of the neighbour.
    package var key: Key
    /// Whether it answers.
    package var state: NeighbourState

    /// Creates a neighbour.
    package init(interfaceIndex: UInt32, address: IPAddress, state: NeighbourState) {
        key = Key(interfaceIndex: interfaceIndex, address: address)
        self.state = state
    }
}

/// The state of a neighbour: the NUD bits of `linux/neighbour.h`, of which one is set.
package struct NeighbourState: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    package let rawValue: UInt16

    /// Creates a value from the kernel's bits, and keeps unknown bits.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The first request is under way.
    package static let incomplete = NeighbourState(rawValue: 0x01)
    /// The neighbour answered lately.
    package static let reachable = NeighbourState(rawValue: 0x02)
    /// The neighbour answered some time ago.
    package static let stale = NeighbourState(rawValue: 0x04)
    /// Stale and in use: a request follows soon.
    package static let delay = NeighbourState(rawValue: 0x08)
    /// A repeated request is under way.
    package static let probe = NeighbourState(rawValue: 0x10)
    /// The neighbour did not answer.
    package static let failed = NeighbourState(rawValue: 0x20)
    /// Needs no resolution.
    package static let noARP = NeighbourState(rawValue: 0x40)
    /// Configured by an administrator.
    package static let permanent = NeighbourState(rawValue: 0x80)

    /// Its link-layer address is known (NUD_VALID).
    package static let valid: NeighbourState = [.permanent, .noARP, .reachable, .probe, .stale, .delay]
}

extension Nexthop {
    /// The gateway as a neighbour; `nil` without a gateway.
    package var neighbour: Neighbour.Key? {
        gateway.map { Neighbour.Key(interfaceIndex: interfaceIndex, address: $0) }
    }
}
