// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRoute
internal import SystemSupport

/// A clock that stands still until it is moved, so that a test need not wait for what a monitor puts off.
final class SteppedClock: MonitorClock {
    private struct State {
        var now = MonitorInstant(nanoseconds: 0)
        var wakes: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    var now: MonitorInstant { state.withLock { $0.now } }
    let timeAsleep = Duration.zero

    func delay(until instant: MonitorInstant) -> Duration? {
        instant <= now ? .zero : nil
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakes.append(wake) }
    }

    func advance(by duration: Duration) {
        let wakes = state.withLock { state in
            state.now = state.now + duration
            return state.wakes
        }
        for wake in wakes { wake() }
    }
}
