// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Forwards questions, and records what the answers depend on.
///
/// Used by one thread: the lock only satisfies the compiler.
final class DependencyTrackingSource: ForwardingSource {
    private struct State {
        var dependencies = MonitorState.Dependencies()
        /// The answers to ``ask(_:)`` that were not taken yet, the last one first.
        var answers: [PlainAnswer?] = []
        /// The addresses of these answers.
        var destinations: [IPAddress] = []
    }

    let base: any RoutingSource
    private let state = Locked(State())

    init(_ base: any RoutingSource) {
        self.base = base
    }

    /// Returns the result of some questions, and what their answers depend on.
    func observe<Result>(_ questions: () -> Result) -> (Result, MonitorState.Dependencies) {
        let result = questions()
        let dependencies = state.withLock { state in
            defer { state.dependencies = MonitorState.Dependencies() }
            return state.dependencies
        }
        return (result, dependencies)
    }

    /// Asks plain questions together, so that ``plainAnswer(about:)`` has their answers, in the same order.
    ///
    /// Answers that are still there are dropped. A question that fails here is asked again alone, and fails there.
    ///
    /// - Parameter destinations: IPv4 addresses, of which as many are asked about as the source takes at once.
    func ask(_ destinations: ArraySlice<IPAddress>) {
        state.withLock { state in
            state.answers.removeAll(keepingCapacity: true)
            state.destinations.removeAll(keepingCapacity: true)
            state.destinations.append(contentsOf: destinations.prefix(base.plainAnswerLimit))
            try? base.plainAnswers(about: state.destinations, detail: nil) { answer, _ in
                state.answers.append(answer)
            }
            state.destinations.removeLast(state.destinations.count - state.answers.count)
            state.destinations.reverse()
            state.answers.reverse()
        }
    }

    /// The answer to a question that was asked before, or to one that is asked now.
    ///
    /// IPv6 routes have lifetimes, which only a whole entry contains.
    func plainAnswer(about destination: IPAddress) throws(RoutingFault) -> PlainAnswer? {
        guard destination.family == .v4 else { return nil }
        let known = state.withLock { state -> PlainAnswer?? in
            guard state.destinations.last == destination, let answer = state.answers.popLast() else {
                return nil
            }
            state.destinations.removeLast()
            if answer != nil { state.dependencies.addresses.insert(destination) }
            return answer
        }
        if let known { return known }
        let answer = try base.plainAnswer(about: destination)
        if answer != nil { note(destination, lifetime: nil) }
        return answer
    }

    /// Only IPv6 routes have lifetimes, and only a whole entry contains them.
    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        let isWhole = detail == .summary && query.destination.family == .v6
        let lookup = try base.lookUp(query, detail: isWhole ? .entry : detail)
        if detail != .choice { note(query.destination, lifetime: lookup.route?.expires) }
        return lookup
    }

    private func note(_ destination: IPAddress, lifetime: Int32?) {
        state.withLock { state in
            state.dependencies.addresses.insert(destination)
            if let lifetime {
                state.dependencies.lifetime = min(state.dependencies.lifetime ?? lifetime, lifetime)
            }
        }
    }
}

/// A resolver that returns what is known already.
struct KnownResolution: HostResolver {
    var result: ResolvedName

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        try result.get()
    }
}
