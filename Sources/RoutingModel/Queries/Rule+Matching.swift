// SPDX-License-Identifier: Apache-2.0

// Policy rules: `fib_rules_lookup` and `fib_rule_match` in the kernel.

/// A packet as policy rules see it.
package struct RulePacket: Sendable {
    /// The packet.
    package let query: RouteQuery
    /// The source address that rules compare; `nil` for an IPv6 packet without one.
    package var source: IPAddress?
    /// The user; `nil` where it is not known.
    package var user: UInt32?
    /// The interface that the packet arrives on, the loopback interface for a packet of this host; `nil` where it is
    /// not known.
    package var inputInterface: Link?
    /// The interface that the socket is bound to; `nil` for none.
    package var outputInterface: Link?
    /// The VRF that the packet belongs to.
    package var vrf: Link?
    /// Whether rules see the VRF in place of its port, as they do until Linux 5.17 (`l3mdev_update_flow`).
    package var vrfReplacesPort = false

    /// Describes a packet that is bound to no interface.
    ///
    /// Without a source rules compare 0.0.0.0 in IPv4.
    package init(_ query: RouteQuery) {
        self.query = query
        source = query.source.flatMap { $0.isUnspecified ? nil : $0 }
        if source == nil, query.destination.family == .v4 { source = .anyV4 }
        user = query.user
    }
}

extension Rule {
    /// What is not known of a packet, or of a rule, and decides whether the rule selects the packet.
    package enum UndecidedSelector: Sendable {
        /// The user.
        case user
        /// Whether a rule that names a VRF as an interface takes the packets of its ports: kernels differ.
        case vrf
        /// The source that the route would give the packet (`fib6_rule_saddr`).
        case source
        /// A selector that this version does not know.
        case unknown
    }

    /// What decides whether the selectors of the rule take a packet; `nil` if they do not take it.
    package func undecidedSelectors(for packet: RulePacket) -> Set<UndecidedSelector>? {
        var open: Set<UndecidedSelector> = hasUnknownSelector ? [.unknown] : []
        guard matchesInterfaces(of: packet, &open), matchesFlow(of: packet.query) else { return nil }
        if let destination, !destination.contains(packet.query.destination) { return nil }
        if let source {
            if let own = packet.source {
                if !source.contains(own) { return nil }
            } else if findsSource {
                open.insert(.source)
            } else {
                return nil
            }
        }
        if let users {
            guard let user = packet.user else { return open.union([.user]) }
            if !users.contains(user) { return nil }
        }
        return open
    }

    /// Whether the rule selects a packet; `nil` where that is not known.
    package func selects(_ packet: RulePacket) -> Bool? {
        guard let open = undecidedSelectors(for: packet) else { return isInverted }
        return open.isEmpty ? !isInverted : nil
    }

    private func matchesInterfaces(of packet: RulePacket, _ open: inout Set<UndecidedSelector>) -> Bool {
        if isL3MDev, packet.vrf == nil { return false }
        let index = packet.query.inputInterface
        if let name = inputInterface {
            let isNamed = packet.inputInterface?.isNamed(name) == true
            if index <= 1 {
                // The packets of this host have the loopback interface as incoming interface.
                guard name == "lo" || isNamed else { return false }
            } else if packet.vrf?.isNamed(name) == true {
                if !packet.vrfReplacesPort { open.insert(.vrf) }
            } else {
                guard isNamed, packet.vrf == nil || !packet.vrfReplacesPort else { return false }
            }
        }
        guard let name = outputInterface else { return true }
        if packet.vrf?.isNamed(name) == true, !packet.vrfReplacesPort {
            open.insert(.vrf)
            return true
        }
        let seen = packet.vrf != nil && packet.vrfReplacesPort ? packet.vrf : packet.outputInterface
        return index == 0 && seen?.isNamed(name) == true
    }

    /// Compares the mark, the type of service, the protocol and the ports of a packet.
    ///
    /// Without a protocol, the packet is a UDP packet. An unspecified port is 0, which no rule matches. A packet from
    /// this host never has a tunnel key.
    package func matchesFlow(of query: RouteQuery) -> Bool {
        if let mark, !mark.matches(query.mark) { return false }
        if tos != 0, tos != query.comparedTypeOfService { return false }
        if let dscp, !dscp.matches(query.typeOfService >> 2) { return false }
        if let ipProtocol, ipProtocol != query.ipProtocol ?? RouteQuery.udp { return false }
        return Self.matches(sourcePorts, mask: sourcePortMask, query.sourcePort)
            && Self.matches(destinationPorts, mask: destinationPortMask, query.destinationPort)
            && tunnelID == nil
    }

    /// `fib_rule_port_match`: only a single port has a mask.
    private static func matches(_ ports: ClosedRange<UInt16>?, mask: UInt16, _ port: UInt16?) -> Bool {
        guard let ports else { return true }
        let port = port ?? 0
        return mask == .max
            ? ports.contains(port) : Masked(ports.lowerBound, mask: mask).matches(port)
    }

    /// Whether the rule passes over a hit: `fib4_rule_suppress` and `fib6_rule_suppress`.
    ///
    /// - Parameters:
    ///   - length: The length of its prefix.
    ///   - group: The group of the interface that it leaves through; `nil` for none.
    /// - Returns: Whether it does.
    package func suppresses(length: Int, group: @autoclosure () -> UInt32?) -> Bool {
        if let limit = suppressedPrefixLength, length <= limit { return true }
        return suppressedGroup.map { $0 == group() } ?? false
    }
}

// MARK: - The walk

extension Rule {
    /// What the walk over the rules comes to.
    package enum Step: Hashable, Sendable {
        /// The table is looked up.
        case table(UInt32)
        /// The rule refuses the packet: the walk ends.
        case refusal(RouteRejection)
        /// The walk goes on behind other rules.
        case goto(priority: UInt32)
        /// Whether the rule selects the packet is not known; the walk goes on as if it did not.
        case undecided
    }

    /// What the rule does with packets that it selects; `nil` for nothing.
    package func step(vrfTable: UInt32?) -> Step? {
        switch action {
        case .nop: nil
        case .goto(let priority): .goto(priority: priority)
        // `fib_get_table` and `fib6_get_table` take the table 0 for main.
        case .lookup(let table):
            .table(isL3MDev ? vrfTable ?? Route.mainTable : table == 0 ? Route.mainTable : table)
        case .unreachable: .refusal(.noRoute)
        case .prohibit: .refusal(.prohibited)
        case .blackhole, .other: .refusal(.blackhole)
        }
    }
}

extension [Rule] {
    /// Walks the rules of one family, which are in the kernel's order, until one ends the search.
    ///
    /// - Parameters:
    ///   - vrfTable: The table of the VRF that the packet belongs to.
    ///   - selects: Whether a rule selects the packet; `nil` where that is not known.
    ///   - visit: Receives a rule and what it leads to, and returns what ends the search. A rule suppresses what this
    ///     finds in its table (``Rule/suppresses(length:group:)``).
    /// - Returns: What ended the search; `nil` if nothing did.
    /// - Throws: What a closure throws.
    @discardableResult
    package func walk<Value, Failure>(
        vrfTable: UInt32? = nil,
        selects: (Rule) throws(Failure) -> Bool?,
        visit: (Rule, Rule.Step) throws(Failure) -> Value?
    ) throws(Failure) -> Value? {
        var index = 0
        while index < count {
            let rule = self[index]
            index += 1
            let isSelected = try selects(rule)
            guard isSelected != false,
                let step = isSelected == nil ? .undecided : rule.step(vrfTable: vrfTable)
            else { continue }
            if let value = try visit(rule, step) { return value }
            switch step {
            case .refusal: return nil
            case .goto(let priority):
                // The kernel lets rules point forward alone. One without a target is passed over.
                let target = partitioningIndex { $0.priority >= priority }
                if target >= index, target < count, self[target].priority == priority { index = target }
            case .table, .undecided: continue
            }
        }
        return nil
    }

    /// Walks the rules of one family for a packet, where it is known or not by the packet whether a rule selects it.
    @discardableResult
    package func walk<Value, Failure>(
        for packet: RulePacket,
        visit: (Rule, Rule.Step) throws(Failure) -> Value?
    ) throws(Failure) -> Value? {
        try walk(
            vrfTable: packet.vrf?.vrfTable, selects: { (rule) throws(Failure) in rule.selects(packet) },
            visit: visit)
    }
}

extension RouteQuery {
    /// IPPROTO_UDP.
    package static let udp: UInt8 = 17

    /// The bits of the type of service that rules and IPv4 routes compare.
    ///
    /// IPv4 ignores the upper three bits (IPTOS_RT_MASK). Both families ignore the two ECN bits.
    package var comparedTypeOfService: UInt8 {
        typeOfService & (destination.family == .v4 ? 0x1c : 0xfc)
    }
}
