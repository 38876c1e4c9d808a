// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A summary of the rules of a snapshot, for hosts whose rules are the initial ones.
struct RuleProgram: Sendable {
    /// Whether the IPv4 rules are the three that every network namespace starts with.
    var hasPlainIPv4 = false
    /// Whether one or both of the initial IPv6 rules were removed and none was added.
    var lacksIPv6Rules = false
    /// Places of tables.
    var local4: Int?
    var main4: Int?
    /// Whether there is a table behind the main one.
    var hasIPv4Default = false

    /// Creates the summary of an empty snapshot.
    init() {}

    /// Summarises the rules and tables of a snapshot in constant time.
    init(_ snapshot: NetworkSnapshot) {
        hasPlainIPv4 = snapshot.rules4.count == Self.plain.count && snapshot.rules4.all == Self.plain
        let rules6 = snapshot.rules6
        lacksIPv6Rules = rules6.count < Self.plain6.count && rules6.all.allSatisfy(Self.plain6.contains)
        local4 = snapshot.routes4.places[Route.localTable]
        main4 = snapshot.routes4.places[Route.mainTable]
        hasIPv4Default = snapshot.routes4.places[Route.defaultTable] != nil
    }

    private static let plain = Rule.standard.filter { $0.family == .v4 }
    private static let plain6 = Rule.standard.filter { $0.family == .v6 }
}
