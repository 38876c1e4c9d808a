// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
package import RoutingModel
internal import SystemSupport

/// A resolver that answers from a table and records the queries; it does not find other names.
package final class ScriptedResolver: HostResolver {
    private struct State {
        var answers: [String: ReachabilityTarget.Resolution]
        var error: ReachabilityError?
        var queries: [NameQuery] = []
    }

    private let state: Locked<State>

    package init(_ answers: [String: ReachabilityTarget.Resolution] = [:], error: ReachabilityError? = nil) {
        state = Locked(State(answers: answers, error: error))
    }

    /// The queries so far, in order.
    package var queries: [NameQuery] { state.withLock { $0.queries } }

    /// The number of queries so far.
    package var count: Int { state.withLock { $0.queries.count } }

    /// Sets the answer for a name.
    package func set(_ name: String, _ answer: ReachabilityTarget.Resolution) {
        state.withLock { $0.answers[name] = answer }
    }

    /// Makes every query fail; `nil` ends the failures.
    package func fail(_ error: ReachabilityError?) {
        state.withLock { $0.error = error }
    }

    package func begin(
        _ query: NameQuery,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        let result: ResolvedName = state.withLock { state in
            state.queries.append(query)
            if let error = state.error { return .failure(error) }
            return .success(state.answers[query.name] ?? .notFound)
        }
        completion(result)
        return {}
    }
}
