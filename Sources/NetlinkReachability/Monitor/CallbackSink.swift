// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import SystemSupport

/// A sink that stops delivering when it is closed.
protocol ClosableSink: AnyObject, Sendable {
    /// Ends the sink: no call begins after this, except one that another thread is just beginning.
    ///
    /// - Parameter keepsStored: Whether the stored answer stays, because another sink takes over.
    /// - Returns: What to release where no lock is held.
    func close(keepsStored: Bool) -> (any Sendable)?
}

/// Calls a handler on a queue, or on the monitor's thread, with the newest result.
///
/// At most one block at a time is enqueued or running. So calls never overlap, not even on a concurrent queue, and a
/// slow handler continues with the newest result and skips those in between. On the monitor's thread, ``deliver()``
/// takes the place of the block.
final class CallbackSink<Question: MonitorQuery>: AnswerSink, ClosableSink {
    typealias Answer = Question.Answer
    typealias Handler = @Sendable (Result<Answer, ReachabilityError>) -> Void

    private struct State {
        /// `nil` after the sink is closed.
        var handler: Handler?
        var newest: Result<Answer, ReachabilityError>?
        /// What the handler was last called with.
        var delivered: Result<Answer, ReachabilityError>?
        /// Whether the handler has to be called with the newest result.
        var isDue = false
        var answered: Answer?
        /// Whether a block is enqueued or running, or the monitor is to call ``CallbackSink/deliver()``.
        var isScheduled = false
        /// Whether the first answer is only compared with.
        let skipsFirst: Bool
    }

    let question: Question
    private let delivery: CallbackDelivery
    private let work: InFlightCounter?
    private let state: Locked<State>

    init(
        _ question: Question,
        delivery: CallbackDelivery,
        skipsFirst: Bool = false,
        work: InFlightCounter? = nil,
        handler: @escaping Handler
    ) {
        self.question = question
        self.delivery = delivery
        self.work = work
        state = Locked(State(handler: handler, skipsFirst: skipsFirst))
    }

    var answered: Answer? {
        state.withLock { $0.answered }
    }

    /// Notes that a call has to be scheduled, unless one is.
    private func becomesDue(_ state: inout State) -> Bool {
        guard state.isDue, !state.isScheduled else { return false }
        state.isScheduled = true
        return true
    }

    @discardableResult
    func offer(_ result: Result<Answer, ReachabilityError>) -> Bool {
        let (isChange, isNewlyDue) = state.withLock { state in
            guard state.handler != nil else { return (false, false) }
            let isChange = !result.isSame(as: state.newest, question.areSame)
            // A result can change back before the handler is called.
            state.isDue = state.isDue ? !result.isSame(as: state.delivered, question.areSame) : isChange
            state.newest = result
            if let answer = result.answer {
                question.store(answer)
                if state.skipsFirst, state.answered == nil {
                    (state.delivered, state.isDue) = (result, false)
                }
                state.answered = answer
            }
            return (isChange, becomesDue(&state))
        }
        if isNewlyDue { schedule() }
        return isChange
    }

    /// Delivers the newest result again, on a queue.
    ///
    /// - Parameter handler: What replaces the handler; `nil` keeps it.
    /// - Returns: The replaced handler, to be released where no lock is held.
    @discardableResult
    func redeliver(to handler: Handler? = nil) -> Handler? {
        let (old, isNewlyDue) = state.withLock { state in
            guard let old = state.handler else { return (nil as Handler?, false) }
            state.handler = handler ?? old
            (state.delivered, state.isDue) = (nil, state.newest != nil)
            return (old, becomesDue(&state))
        }
        if isNewlyDue { schedule() }
        return old
    }

    func close(keepsStored: Bool) -> (any Sendable)? {
        state.withLock { state in
            let handler = state.handler.take()
            state.isDue = false
            if handler != nil, !keepsStored { question.store(nil) }
            return handler
        }
    }

    func deliver() {
        if case .onMonitorThread = delivery { call() }
    }

    private func schedule() {
        let queue: DispatchQueue
        switch delivery {
        case .onMonitorThread: return
        case .queue(let given): queue = given
        case .ownQueue: queue = DispatchQueue(label: "NetworkReachability")
        }
        work?.begin()
        queue.async {
            self.call()
            self.work?.end()
        }
    }

    /// Runs on the queue or the monitor's thread, without a lock.
    private func call() {
        let next = state.withLock { state in
            guard state.isDue, let handler = state.handler, let newest = state.newest else {
                return nil as (Handler, Result<Answer, ReachabilityError>)?
            }
            (state.delivered, state.isDue) = (newest, false)
            return (handler, newest)
        }
        if let (handler, newest) = next { handler(newest) }
        let isStillDue = state.withLock { state in
            state.isScheduled = state.isDue
            return state.isScheduled
        }
        if isStillDue { schedule() }
    }
}
