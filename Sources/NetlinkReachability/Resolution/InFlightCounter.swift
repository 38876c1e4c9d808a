// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Counts work of a monitor outside its thread: handlers to call, names to resolve, iterations to continue.
///
/// Only a simulated network counts, to know when a step of a test has finished.
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

    /// Counts work that has ended, or that waits for the test.
    package func end() {
        state.withLock { $0.count -= 1 }
    }

    /// Counts an iteration that has begun, and not yet waited for an element.
    func loopBegan() {
        state.withLock { $0.newLoops += 1 }
    }

    /// Counts an iteration that waits for the first time, or has ended before.
    func iterationDidWait() {
        state.withLock { $0.newLoops -= 1 }
    }

    /// The number of iterations that have begun, and not yet waited for an element.
    package var newLoopCount: Int {
        state.withLock { $0.newLoops }
    }

    /// How often work has begun; `nil` while any is in flight.
    package var begunWhenQuiet: UInt64? {
        state.withLock { $0.count == 0 ? $0.begun : nil }
    }
}
