// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The rule or route that refuses a packet.
///
/// An errno alone does not distinguish a rule from a missing route.
enum Refusal {
    /// A policy rule of type unreachable, prohibit or blackhole.
    case rule(Rule)
    /// A route of type unreachable, prohibit or blackhole.
    case route(Route)

    /// The words for a reason.
    var words: String {
        switch self {
        case .route(let route): return "\(route.destination) in table \(Route.tableName(route.table))"
        case .rule(let rule):
            let selectors = [rule.source.map { "from \($0)" }, rule.destination.map { "to \($0)" }]
            let words = selectors.compactMap(\.self).joined(separator: " ")
            return words.isEmpty ? "\(rule.priority)" : "\(rule.priority) (\(words))"
        }
    }
}

extension Known {
    /// Finds the rule or route that refuses a packet, by a walk over the rules in the kernel's order
    /// (`fib_rules_lookup`).
    ///
    /// The tables are not looked up. The first rule that refuses is the cause if it has the errno of the rejection,
    /// and if no route of an earlier table has that errno.
    ///
    /// - Parameters:
    ///   - query: The packet of an unbound socket.
    ///   - rejection: The rejection of the packet.
    /// - Returns: The rule or route; `nil` if there is none, or if it is not known.
    /// - Throws: ``Interruption/missing`` while a fact is missing.
    mutating func refusal(
        of query: RouteQuery,
        _ rejection: RouteRejection
    ) throws(Interruption) -> Refusal? {
        let rules = host.rules.find()
        // Routes never refuse with ENETUNREACH.
        let routes =
            rejection == .noRoute ? .success([]) : host.refusingRoutes.find(query.destination.withoutZone)
        guard let rules, let routes else { throw .missing }
        guard let rules = rules.answer, let routes = routes.answer else { return nil }
        let family = query.destination.family
        let packet = try rulePacket(query, rules)
        return rules.filter { $0.family == family }.walk(for: packet) { rule, step -> Refusal?? in
            switch step {
            case .goto: return nil
            case .undecided: return .some(nil)
            case .refusal(let own): return rejection == own ? Refusal.rule(rule) : nil
            case .table(let table):
                let longest = routes.filter { $0.table == table }
                    .max { ($0.destination.length, $1.priority) < ($1.destination.length, $0.priority) }
                guard let longest, longest.type.rejection == rejection else { return nil }
                return .some(.route(longest))
            }
        } ?? nil
    }

    /// A packet as policy rules see it.
    mutating func rulePacket(_ query: RouteQuery, _ rules: [Rule]) throws(Interruption) -> RulePacket {
        var packet = RulePacket(query)
        if query.user == nil, rules.contains(where: { $0.users != nil }) {
            packet.user = try unnotified.askingUser.get()
        }
        if query.inputInterface > 1 { packet.inputInterface = try link(query.inputInterface) }
        if query.outputInterface != 0 { packet.outputInterface = try link(query.outputInterface) }
        let index = query.inputInterface == 0 ? query.outputInterface : query.inputInterface
        if index != 0, let vrf = try vrf(ofInterface: index) {
            packet.vrf = try link(vrf)
            // The VRF is no exit: it chooses the table.
            if vrf == query.outputInterface { packet.outputInterface = nil }
        }
        return packet
    }
}
