// SPDX-License-Identifier: Apache-2.0

import SystemSupport

@testable import NetlinkReachability

/// A place for an observation whose handler ends it, which can be called before the observation is kept.
final class ObservationSlot<Value: Sendable>: Sendable {
    private let state = Locked<(observation: NetworkObservation<Value>?, isCancelled: Bool)>((nil, false))

    func keep(_ observation: NetworkObservation<Value>) {
        let isCancelled = state.withLock { state in
            state.observation = observation
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let observation = state.withLock { state in
            state.isCancelled = true
            return state.observation.take()
        }
        observation?.cancel()
    }

    /// Releases the observation without cancelling it.
    func release() {
        let released = state.withLock { $0.observation.take() }
        withExtendedLifetime(released) {}
    }
}
