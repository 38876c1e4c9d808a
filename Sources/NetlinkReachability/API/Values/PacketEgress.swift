// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Whether packets to a target leave through an interface, and what keeps them from it.
///
/// ```swift
/// let egress = try await NetworkSource.kernel.value(of: .egress(of: .defaultPath, through: "eth1"))
/// print(egress)   // no: the route default metric 100 on eth0 has a lower metric than default metric 200 on eth1
/// ```
///
/// It names what the kernel meets first. Without that the packets leave there, or something else keeps them from it.
public struct PacketEgress: Hashable, Sendable, Codable {
    /// What keeps packets from leaving through an interface.
    public enum Obstacle: String, Hashable, Sendable, CaseIterable, Codable {
        /// There are no packets to the target: ``PacketEgress/reason`` says why.
        case target
        /// The socket is bound to another interface.
        case binding
        /// No usable source address.
        case source
        /// The interface is down.
        case interfaceDown
        /// The interface has no carrier, or something below it cannot send.
        case noCarrier
        /// A policy rule sends the packets to a table without a route through the interface, refuses them, or
        /// suppresses the route through it.
        case rule
        /// Another route of the same table has a longer prefix.
        case prefix
        /// Another route of the same table, with the same prefix, has a lower metric.
        case metric
        /// The kernel chooses another nexthop of the route by a hash.
        case hash
        /// Another route comes first, such as one of the host's own addresses.
        case route
        /// A table has a route through the interface, and no rule leads the packets to it.
        case selector
        /// No table that a rule looks up has a route through the interface.
        case noRoute
    }

    /// What keeps the packets from leaving there; `nil` if they do.
    public let obstacle: Obstacle?
    /// The rule that is the obstacle, that leads to the route that is, or that does not select the packets; `nil`
    /// where there is none.
    public let rule: PolicyRule?
    /// The route that the packets take or that refuses them; `nil` if there is none.
    public let route: NetworkRoute?
    /// The route through the interface; `nil` if there is none.
    public let other: NetworkRoute?
    /// Why the packets leave there, or do not, in one sentence.
    public let reason: String

    /// Whether the packets leave through the interface.
    ///
    /// With several nexthops, those of some connections do.
    public var leaves: Bool { obstacle == nil }

    init(
        _ obstacle: Obstacle?, _ reason: String, rule: Rule? = nil, route: NetworkRoute? = nil,
        other: NetworkRoute? = nil
    ) {
        (self.obstacle, self.reason) = (obstacle, reason)
        (self.rule, self.route, self.other) = (rule.map(PolicyRule.init), route, other)
    }
}

extension PacketEgress: CustomStringConvertible {
    /// One line: `yes` or `no`, and why.
    public var description: String { "\(leaves ? "yes" : "no"): \(reason)" }
}
