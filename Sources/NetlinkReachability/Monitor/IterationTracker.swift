// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Counts an iteration as work in flight from when it is woken until it waits for the next element.
///
/// An iteration that finds an unread element is not counted: a test that iterates step by step does other things
/// before it waits again.
final class IterationTracker: Sendable {
    private struct State {
        /// Whether the iteration has never waited for an element.
        var isNew = true
        var isWaiting = false
        var isCounted = false
        /// Whether an element is unread.
        var isUnread = false
        var isOver = false
    }

    private let work: InFlightCounter
    private let state = Locked(State())

    /// Tracks one iteration, from before it registers with the monitor; `nil` without a counter.
    ///
    /// - Parameter work: The counter.
    init?(_ work: InFlightCounter?) {
        guard let work else { return nil }
        self.work = work
        work.loopBegan()
    }

    /// An element is about to be added.
    func willOffer() {
        state.withLock { state in
            guard !state.isOver else { return }
            guard state.isWaiting else {
                state.isUnread = true
                return
            }
            // The iteration resumes with this element. A second element that arrives before the iteration resumes is
            // read by the next wait.
            state.isWaiting = false
            state.isCounted = true
            work.begin()
        }
    }

    /// The iteration is about to wait for an element.
    func willWait() {
        state.withLock { state in
            if state.isUnread {
                state.isUnread = false
            } else {
                stopCounting(&state)
                state.isWaiting = !state.isOver
                leaveBeginning(&state)
            }
        }
    }

    /// The iteration continues with an element.
    func didWait() {
        state.withLock { $0.isWaiting = false }
    }

    /// The iteration has ended.
    func end() {
        state.withLock { state in
            stopCounting(&state)
            state.isOver = true
            leaveBeginning(&state)
        }
    }

    deinit {
        end()
    }

    private func leaveBeginning(_ state: inout State) {
        if state.isNew { work.iterationDidWait() }
        state.isNew = false
    }

    private func stopCounting(_ state: inout State) {
        if state.isCounted { work.end() }
        state.isCounted = false
    }
}
