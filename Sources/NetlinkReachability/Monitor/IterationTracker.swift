// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// Counts a loop over a sequence as under way from when it is woken up until it comes back for more.
///
/// A loop that comes for an element that lies there already is not counted: whoever iterates step by step does
/// not come back before something else is done.
package final class IterationTracker: Sendable {
    private struct State {
        /// Whether it has not yet waited for what is new.
        var isNew = true
        var isWaiting = false
        var isCounted = false
        var hasUnread = false
        var isOver = false
    }

    private let work: InFlightCounter
    private let state = Locked(State())

    /// Watches one loop, from before it takes a place at the monitor; `nil` where nobody counts.
    package init?(_ work: InFlightCounter?) {
        guard let work else { return nil }
        self.work = work
        work.loopBegan()
    }

    /// An element is about to be put in.
    package func willOffer() {
        state.withLock { state in
            guard !state.isOver else { return }
            guard state.isWaiting else {
                state.hasUnread = true
                return
            }
            // It goes on with this one, and a second one before it does so lies there for the next time.
            state.isWaiting = false
            state.isCounted = true
            work.begin()
        }
    }

    /// The loop comes for an element.
    package func willWait() {
        state.withLock { state in
            if state.hasUnread {
                state.hasUnread = false
            } else {
                stopCounting(&state)
                state.isWaiting = !state.isOver
                noteCome(&state)
            }
        }
    }

    /// The loop goes on with an element.
    package func didWait() {
        state.withLock { $0.isWaiting = false }
    }

    /// The loop has ended.
    package func end() {
        state.withLock { state in
            stopCounting(&state)
            state.isOver = true
            noteCome(&state)
        }
    }

    private func noteCome(_ state: inout State) {
        if state.isNew { work.loopCame() }
        state.isNew = false
    }

    private func stopCounting(_ state: inout State) {
        if state.isCounted { work.end() }
        state.isCounted = false
    }
}
