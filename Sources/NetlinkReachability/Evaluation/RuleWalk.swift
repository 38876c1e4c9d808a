// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The policy rules that select a packet, up to the one that decides.
struct RuleWalk {
    /// The rules of the family.
    let rules: [Rule]
    /// The packet as the rules see it.
    let packet: RulePacket
    /// The rule whose table has the route, or that refuses the packet; `nil` where none does, or that is not known.
    var deciding: Rule?
    /// The route, also one that refuses the packet; `nil` for none.
    var route: Route?
    /// The rules before it.
    var passed: [Rule] = []
    /// Rules of which one decides; empty where it is known which.
    var undecided: [Rule] = []
}

extension ReachabilityReport.Rules {
    init(_ walk: RuleWalk) {
        (deciding, table) = (walk.deciding.map(PolicyRule.init), walk.route?.table)
        passed = walk.passed.map(PolicyRule.init)
        undecided = walk.undecided.map(PolicyRule.init)
    }
}

extension Known {
    /// Walks the rules to what the kernel has answered for a packet.
    ///
    /// - Parameters:
    ///   - query: The packet.
    ///   - answer: The answer, with the entry of the tables.
    /// - Returns: The rules.
    /// - Throws: An ``Interruption`` if it needs more, or the rules are not known.
    mutating func rules(of query: RouteQuery, _ answer: RouteAnswer) throws(Interruption) -> RuleWalk {
        // They explain an answer that does not depend on the whole list of them.
        let rules = try unnotified.rules.get().filter { $0.family == query.destination.family }
        var walk = RuleWalk(rules: rules, packet: try rulePacket(query, rules))
        var (entry, rejection) = (answer.entry, RouteRejection?.none)
        if case .rejected(let given) = answer {
            rejection = given
            if query.outputInterface == 0, case .route(let route)? = try refusal(of: query, given) {
                entry = route
            }
        }
        walk.route = entry
        var group: UInt32?
        if rules.contains(where: { $0.suppressedGroup != nil }), let first = entry?.nexthops.first {
            group = try link(first.interfaceIndex)?.group
        }
        let vrfTable = walk.packet.vrf?.vrfTable
        func decides(_ rule: Rule, _ step: Rule.Step?) -> Bool {
            switch step {
            case .table(let number)?:
                entry.map {
                    number == $0.table && !rule.suppresses(length: $0.destination.length, group: group)
                }
                    ?? false
            case .refusal(let own)?: entry == nil && own == rejection
            case .goto?, .undecided?, nil: false
            }
        }
        let deciding = rules.walk(for: walk.packet) { rule, step -> Rule? in
            if step == .undecided {
                let hidden = rule.step(vrfTable: vrfTable)
                if case .goto? = hidden { walk.undecided.append(rule) }
                if decides(rule, hidden) { walk.undecided.append(rule) }
                return nil
            }
            if decides(rule, step) { return rule }
            walk.passed.append(rule)
            return nil
        }
        if walk.undecided.isEmpty {
            walk.deciding = deciding
        } else if let deciding {
            walk.undecided.append(deciding)
        }
        return walk
    }

    /// The rules that led to the route of an evaluation; `nil` below ``QueryDetail/full``, where the rules are not
    /// known, and without a query.
    mutating func rules(of evaluation: Evaluation) throws(Interruption) -> ReachabilityReport.Rules? {
        guard let query = evaluation.query, query.wantsEntry, let answer = evaluation.answer else {
            return nil
        }
        let walk = attempt { (known) throws(Interruption) in try known.rules(of: query, answer) }
        guard let walk else { throw .missing }
        return walk.answer.map(ReachabilityReport.Rules.init)
    }
}
