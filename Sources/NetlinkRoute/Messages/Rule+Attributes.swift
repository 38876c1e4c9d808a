// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import RoutingModel

/// Attributes of `linux/fib_rules.h` that the headers of this build may not have.
private enum NewRuleAttribute {
    static let dscp = 25
    static let flowLabelMask = 27
    static let sourcePortMask = 28
    static let destinationPortMask = 29
    static let dscpMask = 30
    /// The last one that is known.
    static let last = 30
}

extension Rule {
    /// Reads RTM_NEWRULE or RTM_DELRULE; `nil` for another family than IPv4 and IPv6, such as the rules of multicast
    /// routing (RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR) in the same dump.
    init?(_ message: NetlinkMessage) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(fib_rule_hdr.self)
        guard let family = IPAddress.Family(rawValue: body.family) else { return nil }
        guard max(body.dst_len, body.src_len) <= family.bitWidth else { throw MalformedMessage() }
        self.init(
            family: family,
            priority: try attributes.value(FRA_PRIORITY) ?? 0,
            action: try Action(body, attributes)
        )
        isInverted = body.flags & UInt32(FIB_RULE_INVERT) != 0
        findsSource = body.flags & UInt32(FIB_RULE_FIND_SADDR) != 0
        tos = body.tos
        try readSelectors(body, attributes)
        isL3MDev = try attributes.value(FRA_L3MDEV, as: UInt8.self) ?? 0 != 0
        // Old kernels leave the attributes out when nothing is suppressed, newer ones send -1.
        suppressedPrefixLength = UInt32(exactly: try attributes.value(FRA_SUPPRESS_PREFIXLEN) ?? Int32(-1))
        suppressedGroup = UInt32(exactly: try attributes.value(FRA_SUPPRESS_IFGROUP) ?? Int32(-1))
    }

    private mutating func readSelectors(
        _ body: fib_rule_hdr,
        _ attributes: Attributes
    ) throws(MalformedMessage) {
        source = Self.prefix(try attributes.address(FRA_SRC, family) ?? .any(family), body.src_len)
        destination = Self.prefix(try attributes.address(FRA_DST, family) ?? .any(family), body.dst_len)
        let input = try attributes.text(FRA_IIFNAME, limit: 15)
        inputInterface = input.isEmpty ? nil : input
        let output = try attributes.text(FRA_OIFNAME, limit: 15)
        outputInterface = output.isEmpty ? nil : output
        // A mark or a DSCP without a mask compares all its bits.
        let mark = try attributes.value(FRA_FWMARK, as: UInt32.self)
        let markMask = try attributes.value(FRA_FWMASK, as: UInt32.self)
        self.mark = mark == nil && markMask == nil ? nil : Masked(mark ?? 0, mask: markMask ?? .max)
        let dscpMask = try attributes.value(NewRuleAttribute.dscpMask, as: UInt8.self)
        dscp = try attributes.value(NewRuleAttribute.dscp).map { Masked($0, mask: dscpMask ?? .max) }
        let users = try attributes.value(FRA_UID_RANGE, as: fib_rule_uid_range.self)
        self.users = users.map { Self.range($0.start, $0.end) }
        ipProtocol = try attributes.nonzero(FRA_IP_PROTO)
        let sources = try attributes.value(FRA_SPORT_RANGE, as: fib_rule_port_range.self)
        sourcePorts = sources.map { Self.range($0.start, $0.end) }
        let destinations = try attributes.value(FRA_DPORT_RANGE, as: fib_rule_port_range.self)
        destinationPorts = destinations.map { Self.range($0.start, $0.end) }
        tunnelID = try attributes.nonzero(FRA_TUN_ID).map(UInt64.init(bigEndian:))
        let sourcePortMask = try attributes.value(NewRuleAttribute.sourcePortMask) ?? UInt16.max
        let destinationPortMask = try attributes.value(NewRuleAttribute.destinationPortMask) ?? UInt16.max
        let flowLabelMask = try attributes.value(NewRuleAttribute.flowLabelMask) ?? UInt32(0)
        hasUnknownSelector =
            attributes.highestType > NewRuleAttribute.last || sourcePortMask != .max
            || destinationPortMask != .max || flowLabelMask != 0
    }

    /// A selector, which an empty prefix is not.
    private static func prefix(_ address: IPAddress, _ length: UInt8) -> IPPrefix? {
        length == 0 ? nil : IPPrefix(address, length: Int(length))
    }

    private static func range<Bound: Comparable>(_ first: Bound, _ last: Bound) -> ClosedRange<Bound> {
        min(first, last)...max(first, last)
    }
}

extension Rule.Action {
    fileprivate init(_ body: fib_rule_hdr, _ attributes: Attributes) throws(MalformedMessage) {
        let table = try attributes.value(FRA_TABLE) ?? UInt32(body.table)
        let target = try attributes.value(FRA_GOTO) ?? UInt32(0)
        self =
            switch Int(body.action) {
            case FR_ACT_TO_TBL: .lookup(table: table)
            case FR_ACT_GOTO: .goto(priority: target)
            case FR_ACT_NOP: .nop
            case FR_ACT_BLACKHOLE: .blackhole
            case FR_ACT_UNREACHABLE: .unreachable
            case FR_ACT_PROHIBIT: .prohibit
            default: .other(body.action)
            }
    }
}
