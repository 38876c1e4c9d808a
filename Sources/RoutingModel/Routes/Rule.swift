// SPDX-License-Identifier: Apache-2.0

/// A policy rule: sends matching packets to a routing table, or refuses them.
///
/// Rules are evaluated in order of ``priority``, then of insertion. A selector that is `nil` matches any packet.
///
/// The kernel's counterpart is RTM_NEWRULE.
package struct Rule: Hashable, Sendable {
    /// The action for a packet that a rule selects.
    package enum Action: Hashable, Sendable {
        /// Look the packet up in this table. Continue with the next rule if no route matches.
        case lookup(table: UInt32)
        /// Continue with the first rule of this priority. If there is no such rule, this one is skipped.
        case goto(priority: UInt32)
        /// Continue with the next rule.
        case nop
        /// Drop the packet silently (EINVAL).
        case blackhole
        /// Refuse the packet as unreachable (ENETUNREACH).
        case unreachable
        /// Refuse the packet as prohibited (EACCES).
        case prohibit
        /// An action that this version does not support: the kernel's FR_ACT number.
        case other(UInt8)
    }

    /// The family of the packets.
    package var family: IPAddress.Family
    /// The order: smaller first.
    package var priority: UInt32
    /// The action for matching packets.
    package var action: Action
    /// Whether the rule matches the packets that its selectors do *not* match.
    package var isInverted = false
    /// The sources that the rule matches.
    package var source: IPPrefix?
    /// The destinations that the rule matches.
    package var destination: IPPrefix?
    /// The type of service that the rule matches; 0 for any.
    package var tos: UInt8 = 0
    /// The DSCP that the rule matches, in the masked bits.
    package var dscp: Masked<UInt8>?
    /// The mark that the rule matches, in the masked bits.
    package var mark: Masked<UInt32>?
    /// The name of the incoming interface.
    ///
    /// `lo` matches packets from this host.
    package var inputInterface: String?
    /// The name of the outgoing interface, for packets that are bound to an interface.
    package var outputInterface: String?
    /// The users that the rule matches.
    package var users: ClosedRange<UInt32>?
    /// The transport protocol that the rule matches.
    package var ipProtocol: UInt8?
    /// The source ports that the rule matches.
    package var sourcePorts: ClosedRange<UInt16>?
    /// The bits of a single source port that the rule compares (Linux 6.15 and later).
    package var sourcePortMask = UInt16.max
    /// The destination ports that the rule matches.
    package var destinationPorts: ClosedRange<UInt16>?
    /// The bits of a single destination port that the rule compares (Linux 6.15 and later).
    package var destinationPortMask = UInt16.max
    /// The tunnel key that the rule matches.
    package var tunnelID: UInt64?
    /// Whether the rule looks up packets of a VRF's interfaces in the table of that VRF.
    package var isL3MDev = false
    /// A route whose prefix is at most this long is skipped.
    package var suppressedPrefixLength: UInt32?
    /// A route through an interface of this group is skipped.
    package var suppressedGroup: UInt32?
    /// Whether the rule also matches IPv6 packets without a source, and then checks whether it matches the source
    /// that the route selects for them (FIB_RULE_FIND_SADDR).
    package var findsSource = false
    /// Whether the kernel sent a selector that this version does not support.
    package var hasUnknownSelector = false

    /// Creates a rule that matches every packet of a family.
    ///
    /// Set the selectors afterwards.
    package init(family: IPAddress.Family, priority: UInt32, action: Action) {
        self.family = family
        self.priority = priority
        self.action = action
    }

    /// The initial rules of a network namespace.
    package static let standard = [
        Rule(family: .v4, priority: 0, action: .lookup(table: Route.localTable)),
        Rule(family: .v4, priority: 32_766, action: .lookup(table: Route.mainTable)),
        Rule(family: .v4, priority: 32_767, action: .lookup(table: Route.defaultTable)),
        Rule(family: .v6, priority: 0, action: .lookup(table: Route.localTable)),
        Rule(family: .v6, priority: 32_766, action: .lookup(table: Route.mainTable)),
    ]
}

/// A value of which only some bits are compared.
package struct Masked<Value: FixedWidthInteger & Sendable>: Hashable, Sendable {
    /// The value of the compared bits.
    package var value: Value
    /// The bits that are compared.
    package var mask: Value

    /// Wraps a value and its mask.
    package init(_ value: Value, mask: Value = .max) {
        self.value = value
        self.mask = mask
    }

    /// Whether the compared bits are the same in another value.
    package func matches(_ other: Value) -> Bool {
        (other ^ value) & mask == 0
    }
}
