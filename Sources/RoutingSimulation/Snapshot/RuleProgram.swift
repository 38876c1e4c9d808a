// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A summary of the rules and tables of a snapshot, for hosts whose rules are the initial ones.
struct RuleProgram: Sendable {
    /// Whether the IPv4 rules are the initial three of a network namespace.
    fileprivate(set) var hasPlainIPv4 = false
    /// Whether one or both of the initial IPv6 rules were removed, and it is unknown whether one was ever added.
    fileprivate(set) var lacksIPv6Rules = false
    /// Whether another IPv6 rule than the initial ones was there at a time.
    fileprivate var hadIPv6Rule = false
    /// Places of tables.
    fileprivate(set) var local4: Int?
    fileprivate(set) var main4: Int?
    /// Whether there is a table behind the main one.
    fileprivate(set) var hasIPv4Default = false

    fileprivate static let plain4 = Rule.standard.filter { $0.family == .v4 }
    fileprivate static let plain6 = Rule.standard.filter { $0.family == .v6 }
}

extension NetworkSnapshot {
    /// Summarises the rules and tables in constant time, after a change of them.
    mutating func updateProgram() {
        let (rules4, rules6) = (ruleLists[.v4], ruleLists[.v6])
        program.hasPlainIPv4 = rules4.count == RuleProgram.plain4.count && rules4.all == RuleProgram.plain4
        program.hadIPv6Rule =
            program.hadIPv6Rule || rules6.count > RuleProgram.plain6.count
            || !rules6.all.allSatisfy(RuleProgram.plain6.contains)
        program.lacksIPv6Rules = !program.hadIPv6Rule && rules6.count < RuleProgram.plain6.count
        program.local4 = routeTables.index(ofTable: Route.localTable, .v4)
        program.main4 = routeTables.index(ofTable: Route.mainTable, .v4)
        program.hasIPv4Default = routeTables.index(ofTable: Route.defaultTable, .v4) != nil
    }
}
