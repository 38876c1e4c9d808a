// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The facts about a destination that the rules of RFC 6724, section 6, compare.
package struct DestinationFacts: Hashable, Sendable {
    /// The family of the destination.
    package var family: IPAddress.Family
    /// Rule 1: whether packets can leave for the destination.
    ///
    /// Rules 2 to 5, 7 and 9 compare source addresses, and an unreachable destination has none.
    package var isReachable = false
    /// Rule 2: whether the destination and its source address have the same scope.
    var matchesScope = false
    /// Rule 3: whether its source address is deprecated.
    var isDeprecated = false
    /// Rule 4: whether its source address is a home address.
    var isHome = false
    /// Rule 5: whether the destination and its source address have the same label.
    var matchesLabel = false
    /// Rule 6: the precedence of the destination.
    package var precedence: Int
    /// Rule 7: whether the packets use no IP tunnel.
    package var isNative = false
    /// Rule 8: the scope of the destination.
    package var scope: Int
    /// Rule 9: the number of leading bits that the destination and its source address share.
    package var commonBits = 0

    /// Creates the facts about an unreachable destination.
    package init(_ destination: IPAddress, _ policy: borrowing AddressPolicy) {
        family = destination.family
        precedence = policy.precedence(of: destination)
        scope = policy.scope(of: destination)
    }

    /// Creates the facts about a reachable destination.
    ///
    /// - Parameters:
    ///   - destination: The destination.
    ///   - source: The source address of its packets; `nil` if it is unknown.
    ///   - own: The source address as an interface's address; `nil` if no interface has it.
    ///   - interface: The interface that packets leave through.
    ///   - policy: The policy.
    package init(
        _ destination: IPAddress,
        from source: IPAddress?,
        _ own: InterfaceAddress?,
        through interface: Link?,
        _ policy: borrowing AddressPolicy
    ) {
        self.init(destination, policy)
        isReachable = true
        // Such a tunnel carries packets of one IP version in packets of one IP version.
        isNative = interface.map { ![.tunnel, .tunnel6, .sit].contains($0.hardwareType) } ?? true
        guard let source else { return }
        matchesScope = policy.scope(of: source) == scope
        matchesLabel = policy.label(of: source) == policy.label(of: destination)
        if let own {
            // An optimistic address is treated as a deprecated one (RFC 4429, section 3.1).
            isDeprecated = own.flags.contains(.deprecated) || own.flags.contains(.optimistic)
            isHome = own.flags.contains(.homeAddress)
        }
        commonBits = Self.commonBits(destination, source, own)
    }

    /// The number of leading bits that two addresses share, at most the prefix length of the source (RFC 6724,
    /// section 2.2).
    ///
    /// For IPv4, the result is 0 unless both addresses are in one subnet. Other addresses share leading bits by
    /// chance, and an order by such bits would send all clients of a subnet to the same one of several servers. RFC
    /// 6724, section 10.6, leaves this rule to the host.
    private static func commonBits(_ destination: IPAddress, _ source: IPAddress, _ own: InterfaceAddress?)
        -> Int
    {
        guard destination.family == source.family else { return 0 }
        let width = destination.family.bitWidth
        let common = (destination.bits ^ source.bits).leadingZeroBitCount - (128 - width)
        let length = own.map { Int($0.prefixLength) } ?? width
        if destination.family == .v4, common < length { return 0 }
        return min(common, length)
    }
}

// MARK: - Rules

extension DestinationFacts {
    /// The first rule that prefers one of two destinations, and whether it prefers this one; `nil` if no rule does.
    package func decision(against other: Self) -> (rule: OrderedAddress.Rule, isPreferred: Bool)? {
        if let decision = decisionAcrossFamilies(against: other) { return decision }
        guard family == other.family, commonBits != other.commonBits else { return nil }
        return (.longestPrefix, commonBits > other.commonBits)
    }

    /// Rules 1 to 8, which compare any two destinations.
    private func decisionAcrossFamilies(
        against other: Self
    ) -> (rule: OrderedAddress.Rule, isPreferred: Bool)? {
        if isReachable != other.isReachable { return (.unreachable, isReachable) }
        if matchesScope != other.matchesScope { return (.scope, matchesScope) }
        if isDeprecated != other.isDeprecated { return (.deprecated, other.isDeprecated) }
        if isHome != other.isHome { return (.homeAddress, isHome) }
        if matchesLabel != other.matchesLabel { return (.label, matchesLabel) }
        if precedence != other.precedence { return (.precedence, precedence > other.precedence) }
        if isNative != other.isNative { return (.nativeTransport, isNative) }
        if scope != other.scope { return (.smallerScope, scope < other.scope) }
        return nil
    }

    /// Orders destinations by all rules.
    ///
    /// Rule 9 compares only destinations of one family. Destinations that the other rules do not distinguish are
    /// ordered by rule 9 within each family, on the positions of that family in the given order. A plain pairwise
    /// comparison would not be transitive.
    ///
    /// - Returns: The indices of the destinations, in order.
    package static func order(_ all: [Self]) -> [Int] {
        var order = Array(all.indices)
        order.sort { left, right in
            all[left].decisionAcrossFamilies(against: all[right])?.isPreferred ?? (left < right)
        }
        var start = 0
        while start < order.count {
            let first = all[order[start]]
            let rest = order[start...]
            let end = rest.firstIndex { first.decisionAcrossFamilies(against: all[$0]) != nil } ?? order.count
            for family in IPAddress.Family.allCases {
                let positions = (start..<end).filter { all[order[$0]].family == family }
                // These are in the given order, and the sort keeps that order where the bits are equal.
                let sorted = positions.map { order[$0] }.sorted { all[$0].commonBits > all[$1].commonBits }
                for (position, index) in zip(positions, sorted) { order[position] = index }
            }
            start = end
        }
        return order
    }
}
