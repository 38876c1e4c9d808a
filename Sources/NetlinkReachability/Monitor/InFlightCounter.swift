// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// Counts what a monitor has begun outside its thread: handlers to be called, names to be resolved, loops to go on.
///
/// Only a simulated network counts, to know when a step of a test is over.
package final class InFlightCounter: Sendable {
    private struct State {
        var count = 0
        var begun: UInt64 = 0
        var newLoops = 0
    }

    private let state = Locked(State())

    /// Nothing under way.
    package init() {}

    /// Notes that something is under way.
    package func begin() {
        state.withLock { state in
            state.count += 1
            state.begun += 1
        }
    }

    /// Notes that something that began is over, or waits for somebody else.
    package func end() {
        state.withLock { $0.count -= 1 }
    }

    /// Notes that a loop has begun, which has yet to come for what is new.
    func loopBegan() {
        state.withLock { $0.newLoops += 1 }
    }

    /// Notes that a loop waits for what is new for the first time, or has ended before.
    func loopCame() {
        state.withLock { $0.newLoops -= 1 }
    }

    /// How many loops have begun and not come for what is new.
    package var newLoopCount: Int {
        state.withLock { $0.newLoops }
    }

    /// How often something began so far; `nil` while anything is under way.
    package var begunWhenQuiet: UInt64? {
        state.withLock { $0.count == 0 ? $0.begun : nil }
    }
}
