// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// What follows from the routes of a packet: pure functions, from results to the next step.
extension CandidateLookup {
    /// What follows from the route of a packet.
    ///
    /// - Parameters:
    ///   - query: The packet.
    ///   - result: Its route.
    ///   - source: The address that the kernel selects if no IPv4 route matches; `nil` for none. A route can match a
    ///     packet from it, by a rule of a host with several uplinks (`ip rule add from`).
    ///   - isDefaultPath: Whether the packet stands for those to many addresses, which can take other nexthops.
    ///   - lifetime: Becomes that of the route, if it is shorter.
    /// - Returns: The next step.
    static func step(
        _ query: RouteQuery,
        after result: RoutingResult,
        onLinkFrom source: IPAddress?,
        isDefaultPath: Bool,
        _ lifetime: inout Int32?
    ) -> Step {
        switch result {
        case .failure(let error): return .failed(error)
        case .success(let answer):
            lifetime.shorten(to: answer.lifetime)
            if answer.isRejected, let source { return .routingFrom([source], after: answer) }
            guard query.source == nil, selectsSource(query, after: answer) else {
                return .fetchingInterfaces(from: query.source, answer)
            }
            // Each nexthop of an IPv4 route has a source of its own. The kernel's answer has that of the nexthop which
            // its hash chooses for this destination; a recording does not contain the hash.
            let isOpen = isDefaultPath && query.destination.family == .v4 && answer.hasSeveralNexthops
            guard !isOpen, let source = answer.source else { return .selectingSource(after: answer) }
            return step(query, after: answer, from: source.isUnspecified ? [] : [source])
        }
    }

    /// What follows from the only route of a packet, which no source address changes.
    static func step(_ query: RouteQuery, afterOnly result: RoutingResult, _ lifetime: inout Int32?) -> Step {
        switch result {
        case .failure(let error): return .failed(error)
        case .success(let answer):
            lifetime.shorten(to: answer.lifetime)
            return .fetchingInterfaces(from: query.source, answer)
        }
    }

    /// Whether the source address that a socket without one selects can change the answer.
    private static func selectsSource(_ query: RouteQuery, after answer: RouteAnswer) -> Bool {
        // A rejection is the last word in IPv4 alone.
        guard case .taken(let match) = answer else { return query.destination.family == .v6 }
        return match.dependsOnSource
    }

    /// What follows from the source addresses that the kernel can select.
    ///
    /// An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
    static func step(_ query: RouteQuery, after first: RouteAnswer, from sources: [IPAddress]) -> Step {
        if query.destination.family == .v6, !first.isRejected {
            return .fetchingInterfaces(from: nil, sources.isEmpty ? .rejected(.noSourceAddress) : first)
        }
        return sources.isEmpty ? .fetchingInterfaces(from: nil, first) : .routingFrom(sources, after: first)
    }

    /// What follows from the routes from each of the source addresses that the kernel can select.
    static func step(
        _ query: RouteQuery,
        after first: RouteAnswer,
        _ results: [(source: IPAddress, route: RoutingResult)],
        _ lifetime: inout Int32?
    ) -> Step {
        let isIPv6 = query.destination.family == .v6
        var found: (source: IPAddress?, answer: RouteAnswer)?
        for (source, result) in results {
            var next: (source: IPAddress?, answer: RouteAnswer)
            switch result {
            case .failure(let error): return .failed(error)
            // The first rejection says more.
            case .success(let answer): next = isIPv6 && answer.isRejected ? (nil, first) : (source, answer)
            }
            lifetime.shorten(to: next.answer.lifetime)
            guard let known = found else {
                found = next
                continue
            }
            guard known.answer.path != next.answer.path else { continue }
            // Each nexthop of an IPv4 route has a source: the nexthops of all of them are evaluated.
            guard !isIPv6, let both = known.answer.merged(with: next.answer) else {
                return .failed(.undecidedSource(query.from(source)))
            }
            found?.answer = both
        }
        guard let found else { return .fetchingInterfaces(from: nil, first) }
        // It is unknown which of several addresses the kernel selects.
        return results.count > 1
            ? .fetchingInterfaces(from: nil, found.answer.with { $0.source = nil })
            : .fetchingInterfaces(from: found.source, found.answer)
    }
}

// MARK: - Encapsulation

extension CandidateLookup {
    /// What follows from the final route of a packet: the route of the outer packet, if there is one.
    static func step(after answer: RouteAnswer, from source: IPAddress?) -> Step {
        guard answer.isEncapsulated else { return .answered(from: source, answer) }
        let kinds = Set(answer.nexthops.map { $0.encapsulation?.value })
        guard kinds.count == 1, let encapsulation = kinds.first ?? nil, encapsulation.isShown else {
            let words = kinds.compactMap { $0?.description }.sorted().joined(separator: ", ")
            return .failed(.undecidedEncapsulation(words))
        }
        guard let destination = encapsulation.destination else { return .answered(from: source, answer) }
        // The other kinds have the source of the tunnel, or select it after the lookup.
        guard encapsulation.kind == .seg6 else {
            return .routingOuter(destination, fromEach: [nil], from: source, answer)
        }
        return .selectingOuterSource(destination, from: source, answer)
    }

    /// What follows from the route of the outer packet.
    ///
    /// It is not followed into a third packet. No answer shows which source address it has, unless that was selected
    /// before (seg6).
    static func step(after answer: RouteAnswer, from source: IPAddress?, inside outer: RouteAnswer) -> Step {
        let words = outer.nexthops.compactMap { $0.encapsulation?.value.description }
        guard words.isEmpty, outer.match?.dependsOnSource != true else {
            let inner = answer.nexthops.compactMap { $0.encapsulation?.value.description }
            return .failed(.undecidedEncapsulation((inner + words).joined(separator: ", ")))
        }
        return .answered(from: source, answer)
    }
}

extension ReachabilityError {
    fileprivate static func undecidedEncapsulation(_ words: String) -> ReachabilityError {
        ReachabilityError(
            .undecided,
            operation: "follow an encapsulation",
            message: "the route puts something around its packets (encap \(words)) that decides where they go"
        )
    }

    /// The kernel can select several source addresses, and the answers differ in kind.
    static func undecidedSource(_ query: RouteQuery) -> ReachabilityError {
        ReachabilityError(
            .undecided,
            operation: "select a source address",
            message:
                "the kernel can select \(query.source.map { "\($0)" } ?? "one") or another source address for "
                + "\(query.destination), and they take different routes"
        )
    }
}

extension RouteQuery {
    /// The query with the strictness of a bound IPv6 socket that has a source address.
    var ofSocket: RouteQuery {
        var query = self
        query.isStrict = source != nil && outputInterface != 0 && destination.family == .v6
        return query
    }

    /// The query about a packet from a source address; `nil` where the kernel selects it.
    func from(_ source: IPAddress?) -> RouteQuery {
        var query = self
        query.source = source
        return query
    }
}
