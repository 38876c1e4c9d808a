// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// What the rules of RFC 6724, section 6, compare of a destination.
package struct DestinationFacts: Hashable, Sendable {
    /// The family of the destination.
    package var family: IPAddress.Family
    /// Rule 1: whether packets can leave for it.
    ///
    /// Rules 2 to 5, 7 and 9 compare source addresses, which only such destinations have.
    package var isReachable = false
    /// Rule 2: whether its scope is that of its source address.
    package var matchesScope = false
    /// Rule 3: whether its source address is deprecated.
    package var isDeprecated = false
    /// Rule 4: whether its source address is a home address.
    package var isHome = false
    /// Rule 5: whether its label is that of its source address.
    package var matchesLabel = false
    /// Rule 6: its precedence.
    package var precedence: Int
    /// Rule 7: whether its packets go through no IP tunnel.
    package var isNative = false
    /// Rule 8: its scope.
    package var scope: Int
    /// Rule 9: how many leading bits it has in common with its source address.
    package var commonBits = 0

    /// The facts about a destination that cannot be reached.
    package init(_ destination: IPAddress, _ policy: borrowing AddressPolicy) {
        family = destination.family
        precedence = policy.precedence(of: destination)
        scope = policy.scope(of: destination)
    }

    /// The facts about a destination that can be reached.
    ///
    /// - Parameters:
    ///   - destination: The destination.
    ///   - source: The source address of its packets; `nil` if it is unknown.
    ///   - own: The source address as an interface has it; `nil` if no interface does.
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
        // In a tunnel, packets of one IP version travel in packets of one.
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

    /// The leading bits that both have in common, of those that are the prefix of the source (RFC 6724, section 2.2).
    ///
    /// IPv4 addresses of one subnet alone have any: others that begin alike are near each other by chance, and an
    /// order by them would send all clients of a subnet to one server of several (RFC 6724, section 10.6, leaves this
    /// rule to the host).
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
    /// The first rule that prefers one of two destinations, and whether it prefers this one; `nil` if none does.
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
    /// Rule 9 compares destinations of one family only. Where the others distinguish nothing, each family is ordered
    /// by it on the places that it has in the given order: a comparison of pairs alone can run in circles.
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
                // They are in the given order, which the sort keeps where the bits are equal.
                let sorted = positions.map { order[$0] }.sorted { all[$0].commonBits > all[$1].commonBits }
                for (position, index) in zip(positions, sorted) { order[position] = index }
            }
            start = end
        }
        return order
    }
}
