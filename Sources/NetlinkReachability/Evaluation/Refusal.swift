// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What refuses a packet that has no route: an errno does not tell a rule from a missing route.
enum Refusal {
    /// A policy rule of type unreachable, prohibit or blackhole.
    case rule(Rule)
    /// A route of such a type.
    case route(Route)

    /// The words of a reason.
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
    /// Finds what refuses a packet, by a walk over the rules as the kernel walks (`fib_rules_lookup`).
    ///
    /// The tables are not looked up: the first rule that refuses is what decided if the errno is its own, and no route
    /// of a table before it has that errno.
    ///
    /// - Parameters:
    ///   - query: The packet, of a socket that is bound to no interface.
    ///   - rejection: Why it has no route.
    /// - Returns: What refuses it; `nil` if nothing does, and where that is not known.
    /// - Throws: ``Interruption/missing`` as long as something is missing.
    mutating func refusal(
        of query: RouteQuery,
        _ rejection: RouteRejection
    ) throws(Interruption) -> Refusal? {
        let rules = host.rules.find()
        // A route does not refuse with ENETUNREACH.
        let routes =
            rejection == .noRoute ? .success([]) : host.refusingRoutes.find(query.destination.withoutZone)
        guard let rules, let routes else { throw .missing }
        guard let rules = rules.answer, let routes = routes.answer else { return nil }
        let family = query.destination.family
        let packet = try rulePacket(query, rules)
        return rules.filter { $0.family == family }.walk(
            selects: { $0.selects(packet) },
            visit: { rule, step -> Refusal?? in
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
            }) ?? nil
    }

    /// A packet as policy rules see it.
    mutating func rulePacket(_ query: RouteQuery, _ rules: [Rule]) throws(Interruption) -> RulePacket {
        var packet = RulePacket(query)
        if query.user == nil, rules.contains(where: { $0.users != nil }) {
            packet.user = try host.askingUser.get()
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

extension RouteType {
    /// The errno with which the kernel refuses packets that a route of this type takes; `nil` for other types.
    fileprivate var rejection: RouteRejection? {
        switch self {
        case .unreachable: .unreachable
        case .prohibit: .prohibited
        case .blackhole: .blackhole
        default: nil
        }
    }
}
