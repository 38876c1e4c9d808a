// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Counts an iteration as work in flight from when it is woken until it waits for the next element.
///
/// An iteration that finds an element waiting is not counted: a test that iterates step by step does other things
/// before it waits again.
package final class IterationTracker: Sendable {
    private struct State {
        /// Whether it has never waited for an element.
        var isNew = true
        var isWaiting = false
        var isCounted = false
        var unreadCount = 0
        var isOver = false
    }

    private let work: InFlightCounter
    private let keepsAll: Bool
    private let state = Locked(State())

    /// Tracks one iteration, from before it registers with the monitor; `nil` without a counter.
    ///
    /// - Parameters:
    ///   - work: The counter.
    ///   - keepsAll: Whether a new element takes its place behind the unread ones, or replaces them.
    package init?(_ work: InFlightCounter?, keepsAll: Bool) {
        guard let work else { return nil }
        self.work = work
        self.keepsAll = keepsAll
        work.loopBegan()
    }

    /// An element is about to be added.
    package func willOffer() {
        state.withLock { state in
            guard !state.isOver else { return }
            guard state.isWaiting else {
                state.unreadCount = keepsAll ? state.unreadCount + 1 : 1
                return
            }
            // The iteration resumes with this element. A second element that arrives before that is left for the next
            // wait.
            state.isWaiting = false
            state.isCounted = true
            work.begin()
        }
    }

    /// The iteration is about to wait for an element.
    package func willWait() {
        state.withLock { state in
            if state.unreadCount > 0 {
                state.unreadCount -= 1
            } else {
                stopCounting(&state)
                state.isWaiting = !state.isOver
                noteCome(&state)
            }
        }
    }

    /// The iteration continues with an element.
    package func didWait() {
        state.withLock { $0.isWaiting = false }
    }

    /// The iteration has ended.
    package func end() {
        state.withLock { state in
            stopCounting(&state)
            state.isOver = true
            noteCome(&state)
        }
    }

    deinit {
        end()
    }

    private func noteCome(_ state: inout State) {
        if state.isNew { work.iterationDidWait() }
        state.isNew = false
    }

    private func stopCounting(_ state: inout State) {
        if state.isCounted { work.end() }
        state.isCounted = false
    }
}
