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
        var start: UInt32 = 0
        for rule in rules where rule.family == query.destination.family && rule.priority >= start {
            guard let isTaken = try takes(rule, query) else { return nil }
            guard isTaken else { continue }
            switch rule.action {
            case .nop: continue
            case .goto(let priority):
                if rules.contains(where: { $0.family == rule.family && $0.priority == priority }) {
                    start = priority
                }
            case .lookup(let table):
                let table = table == 0 ? Route.mainTable : table
                let longest = routes.filter { $0.table == table }
                    .max { ($0.destination.length, $1.priority) < ($1.destination.length, $0.priority) }
                if let longest, longest.type.rejection == rejection { return .route(longest) }
            case .unreachable: return rejection == .noRoute ? .rule(rule) : nil
            case .prohibit: return rejection == .prohibited ? .rule(rule) : nil
            case .blackhole, .other: return rejection == .blackhole ? .rule(rule) : nil
            }
        }
        return nil
    }

    /// Whether a rule takes a packet of this host; `nil` where that is not known.
    private mutating func takes(_ rule: Rule, _ query: RouteQuery) throws(Interruption) -> Bool? {
        let isKnown =
            !rule.hasUnknownSelector && !rule.findsSource && !rule.isL3MDev
            && (rule.inputInterface ?? "lo") == "lo"
        guard isKnown else { return nil }
        var isSelected = rule.outputInterface == nil && rule.matchesFlow(of: query)
        if let destination = rule.destination, !destination.contains(query.destination) { isSelected = false }
        if let source = rule.source {
            // IPv4 compares 0.0.0.0 where there is no source yet, and no IPv6 rule takes such a packet.
            let own = query.source ?? (rule.family == .v4 ? .anyV4 : nil)
            if own.map(source.contains) != true { isSelected = false }
        }
        if isSelected, let users = rule.users {
            var user = query.user
            if user == nil { user = try host.askingUser.get() }
            guard let user else { return nil }
            isSelected = users.contains(user)
        }
        return isSelected != rule.isInverted
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
