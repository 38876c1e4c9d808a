// SPDX-License-Identifier: Apache-2.0

/// A policy rule: sends matching packets to a routing table, or refuses them.
///
/// Rules are looked at in order of ``priority``, then of insertion. A selector that is `nil` takes any packet.
///
/// The kernel's counterpart is RTM_NEWRULE.
package struct Rule: Hashable, Sendable {
    /// What happens to a packet that a rule selects.
    package enum Action: Hashable, Sendable {
        /// Look it up in this table; go on with the next rule when it is not there.
        case lookup(table: UInt32)
        /// Go on with the first rule of this priority; such a rule must exist, else this one is passed over.
        case goto(priority: UInt32)
        /// Go on with the next rule.
        case nop
        /// Drop in silence (EINVAL).
        case blackhole
        /// Refuse as unreachable (ENETUNREACH).
        case unreachable
        /// Refuse by the administrator (EACCES).
        case prohibit
        /// Something this version does not know: the kernel's FR_ACT number.
        case other(UInt8)
    }

    /// The family of the packets.
    package var family: IPAddress.Family
    /// The order: smaller first.
    package var priority: UInt32
    /// What happens.
    package var action: Action
    /// Whether the rule takes the packets that its selectors do *not* take.
    package var isInverted = false
    /// The sources it takes.
    package var source: IPPrefix?
    /// The destinations it takes.
    package var destination: IPPrefix?
    /// The type of service it takes; 0 for any.
    package var tos: UInt8 = 0
    /// The DSCP that it takes, in the masked bits.
    package var dscp: Masked<UInt8>?
    /// The firewall mark that it takes, in the masked bits.
    package var mark: Masked<UInt32>?
    /// The name of the incoming interface; `lo` takes packets that this host sends.
    package var inputInterface: String?
    /// The name of the outgoing interface, for packets that are bound to one.
    package var outputInterface: String?
    /// The users it takes.
    package var users: ClosedRange<UInt32>?
    /// The transport protocol it takes.
    package var ipProtocol: UInt8?
    /// The source ports it takes.
    package var sourcePorts: ClosedRange<UInt16>?
    /// The destination ports it takes.
    package var destinationPorts: ClosedRange<UInt16>?
    /// The tunnel key it takes.
    package var tunnelID: UInt64?
    /// Whether it sends packets of an interface of a VRF to that VRF's table.
    package var isL3MDev = false
    /// A hit whose prefix is at most this long is passed over.
    package var suppressedPrefixLength: UInt32?
    /// A hit that leaves through an interface of this group is passed over.
    package var suppressedGroup: UInt32?
    /// Whether it takes IPv6 packets without a source too, and then looks whether the source that its route gives
    /// them is one that it takes (FIB_RULE_FIND_SADDR).
    package var findsSource = false
    /// Whether the kernel sent a selector that this version does not know.
    package var hasUnknownSelector = false

    /// Describes a rule that takes every packet of a family; set the selectors afterwards.
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

/// A value of which only some bits count.
package struct Masked<Value: FixedWidthInteger & Sendable>: Hashable, Sendable {
    /// The bits to be found where the mask is set.
    package var value: Value
    /// The bits that count.
    package var mask: Value

    /// Wraps a value and its mask.
    package init(_ value: Value, mask: Value = .max) {
        self.value = value
        self.mask = mask
    }

    /// Whether the bits that count are the same in another value.
    package func matches(_ other: Value) -> Bool {
        (other ^ value) & mask == 0
    }
}
