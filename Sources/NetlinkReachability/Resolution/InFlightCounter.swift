// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Counts a monitor's work outside of its thread: handlers to call, names to resolve, iterations to continue.
///
/// Used only for simulated networks, to find out when a step of a test has finished.
package final class InFlightCounter: Sendable {
    private struct State {
        var count = 0
        var begun: UInt64 = 0
        var newLoops = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Counts work that begins.
    package func begin() {
        state.withLock { state in
            state.count += 1
            state.begun += 1
        }
    }

    /// Counts work that has ended, or that now waits for the test.
    package func end() {
        state.withLock { $0.count -= 1 }
    }

    /// Counts an iteration that has begun and has not waited for an element yet.
    func loopBegan() {
        state.withLock { $0.newLoops += 1 }
    }

    /// Counts an iteration that waits for the first time, or that ends without having waited.
    func iterationDidWait() {
        state.withLock { $0.newLoops -= 1 }
    }

    /// The number of iterations that have begun and have not waited for an element yet.
    package var newLoopCount: Int {
        state.withLock { $0.newLoops }
    }

    /// How often work has begun; `nil` while work is in flight.
    package var begunWhenQuiet: UInt64? {
        state.withLock { $0.count == 0 ? $0.begun : nil }
    }
}
