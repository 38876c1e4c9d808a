// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel
internal import RoutingSimulation

extension SimulatedHost {
    /// Adds a policy rule: `ip rule add`.
    ///
    /// ```swift
    /// var rule = Rule(family: .v4, priority: 100, action: .lookup(table: 51_820))
    /// rule.mark = Masked(0xca6c)
    /// rule.isInverted = true
    /// try host.addRule(rule)
    /// ```
    ///
    /// - Parameter rule: The rule.
    /// - Throws: ``SimulationError`` when an equal rule exists.
    public mutating func addRule(_ rule: Rule) throws(SimulationError) {
        try checkIsChangeable()
        guard !rules.contains(rule) else {
            throw SimulationError(
                .ruleExists,
                "an equal rule of priority \(rule.priority) exists: use another priority"
            )
        }
        state.apply(.rule(rule), .rule)
    }

    /// Removes a policy rule: `ip rule del`.
    ///
    /// ```swift
    /// for rule in host.rules where rule.priority == 100 { try host.removeRule(rule) }
    /// ```
    ///
    /// - Parameter rule: The rule, equal to one of ``rules``.
    /// - Throws: ``SimulationError`` when no rule is equal.
    public mutating func removeRule(_ rule: Rule) throws(SimulationError) {
        try checkIsChangeable()
        guard rules.contains(rule) else {
            throw SimulationError(
                .unknownRule,
                "no such rule of priority \(rule.priority) exists: pass one of `rules`"
            )
        }
        state.apply(.removedRule(rule), .rule)
    }
}
