// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A policy rule, which sends packets to a routing table or refuses them.
///
/// The kernel's counterpart is RTM_NEWRULE.
public struct PolicyRule: Hashable, Sendable, Codable {
    /// The order: rules of a smaller priority come first.
    public let priority: UInt32
    /// The rule as `ip rule` prints it behind the priority, such as `from 192.0.2.2 lookup 77`.
    public let words: String

    init(_ rule: Rule) {
        (priority, words) = (rule.priority, rule.words)
    }

    /// Whether every host has the rule.
    fileprivate var isStandard: Bool { Rule.standard.map(PolicyRule.init).contains(self) }
}

extension PolicyRule: CustomStringConvertible {
    /// The rule as `ip rule` prints it: `100: from 192.0.2.2 lookup 77`.
    public var description: String { "\(priority): \(words)" }
}

extension ReachabilityReport {
    /// The policy rules that select the packets of a query, in the kernel's order up to the one that decides.
    ///
    /// The kernel answers with the table alone. The rules follow from a walk over all of them, as the kernel walks.
    public struct Rules: Hashable, Sendable, Codable {
        /// The rule whose table has the route, or that refuses the packets; `nil` where none does, and where that is
        /// not known.
        public let deciding: PolicyRule?
        /// The table that has the route; `nil` where none has one.
        public let table: UInt32?
        /// The rules before it, whose tables have no route for the packets.
        public let passed: [PolicyRule]
        /// Rules of which one decides, where it is not known whether the first ones select the packets; empty where
        /// that is known.
        public let undecided: [PolicyRule]

        /// Whether they are rules that every host has.
        package var areStandard: Bool {
            (passed + undecided + [deciding].compactMap(\.self)).allSatisfy(\.isStandard)
        }
    }
}

extension ReachabilityReport.Rules: CustomStringConvertible {
    /// One line: the rule that decides, and those before it that not every host has.
    public var description: String {
        var words = deciding.map { "\($0)" } ?? "none decides"
        if !undecided.isEmpty {
            words = "undecided between " + undecided.map { "\($0)" }.joined(separator: " and ")
        }
        let passed = passed.filter { !$0.isStandard }
        guard !passed.isEmpty else { return words }
        return words + "; passed " + passed.map { "\($0)" }.joined(separator: ", ")
    }
}
