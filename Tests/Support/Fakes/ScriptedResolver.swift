// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
package import RoutingModel
internal import SystemSupport

/// A resolver that answers from a table and records the queries; other names are not found.
package final class ScriptedResolver: HostResolver {
    package struct Query: Hashable, Sendable {
        package var name: String
        package var families: ReachabilityOptions.Families
        package var timeout: Duration

        package init(name: String, families: ReachabilityOptions.Families, timeout: Duration) {
            self.name = name
            self.families = families
            self.timeout = timeout
        }
    }

    private struct State {
        var answers: [String: NetworkSource.NameResolution]
        var error: ReachabilityError?
        var queries: [Query] = []
    }

    private let state: Locked<State>

    package init(_ answers: [String: NetworkSource.NameResolution] = [:], error: ReachabilityError? = nil) {
        state = Locked(State(answers: answers, error: error))
    }

    /// The queries so far, in order.
    package var queries: [Query] { state.withLock { $0.queries } }

    /// The number of queries so far.
    package var count: Int { state.withLock { $0.queries.count } }

    /// Sets the answer for a name.
    package func set(_ name: String, _ answer: NetworkSource.NameResolution) {
        state.withLock { $0.answers[name] = answer }
    }

    /// Makes every query fail; `nil` ends that.
    package func fail(_ error: ReachabilityError?) {
        state.withLock { $0.error = error }
    }

    package func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        let result: ResolvedName = state.withLock { state in
            state.queries.append(Query(name: name, families: families, timeout: timeout))
            if let error = state.error { return .failure(error) }
            return .success(state.answers[name] ?? .notFound)
        }
        completion(result)
        return {}
    }
}
