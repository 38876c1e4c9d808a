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
final class CallbackSink<Question: MonitorQuestion, Handler: SinkHandler>: Observation, ClosableSink
where Question.Answer == Handler.Answer {
    typealias Answer = Question.Answer

    private struct State {
        /// `nil` after the sink is closed.
        var handler: Handler?
        var newest: Observed<Answer>?
        var delivered: Observed<Answer.Change>?
        var answered: Answer.Change?
        /// Whether a block is enqueued or running, or the monitor is to call ``CallbackSink/deliver()``.
        var isScheduled = false
        /// Whether the first answer is only compared with.
        var skipsFirst: Bool

        var isDue: Bool {
            guard handler != nil, let newest else { return false }
            return newest.change != delivered
        }
    }

    let question: Question
    /// `nil` for a queue that is created for each block: most handles are silent most of the time.
    private let delivery: CallbackDelivery?
    private let work: InFlightCounter?
    private let state: Locked<State>

    init(
        _ question: Question,
        delivery: CallbackDelivery?,
        skipsFirst: Bool = false,
        work: InFlightCounter? = nil,
        handler: Handler
    ) {
        self.question = question
        self.delivery = delivery
        self.work = work
        state = Locked(State(handler: handler, skipsFirst: skipsFirst))
    }

    /// The newest answer; `nil` before the first.
    var newest: Answer? {
        state.withLock { $0.newest?.answer }
    }

    var answered: Answer.Change? {
        state.withLock { $0.answered }
    }

    @discardableResult
    func offer(_ observed: Observed<Answer>) -> Bool {
        let (isChange, isDue) = state.withLock { state in
            guard state.handler?.accepts(observed) == true else { return (false, false) }
            let change = observed.change
            let isChange = state.newest?.change != change
            state.newest = observed
            if let answer = observed.answer {
                question.subject?.current.store(answer.latestFlags)
                state.answered = answer.change
                if state.skipsFirst {
                    state.skipsFirst = false
                    state.delivered = change
                }
            }
            guard !state.isScheduled, state.delivered != change else { return (isChange, false) }
            state.isScheduled = true
            return (isChange, true)
        }
        if isDue { schedule() }
        return isChange
    }

    /// Delivers the newest result again, on a queue.
    ///
    /// - Parameter handler: What replaces the handler; `nil` keeps it.
    /// - Returns: The replaced handler, to be released where no lock is held.
    @discardableResult
    func redeliver(to handler: Handler? = nil) -> Handler? {
        let (old, isDue) = state.withLock { state in
            guard let old = state.handler else { return (nil as Handler?, false) }
            state.handler = handler ?? old
            state.delivered = nil
            guard !state.isScheduled, state.newest != nil else { return (old, false) }
            state.isScheduled = true
            return (old, true)
        }
        if isDue { schedule() }
        return old
    }

    func close(keepsStored: Bool) -> (any Sendable)? {
        state.withLock { state in
            let handler = state.handler.take()
            if handler != nil, !keepsStored { question.subject?.current.store(nil) }
            return handler
        }
    }

    // The monitor's thread calls these members without the types. Specialised for flags, the most frequent answers,
    // they look up no types at run time, which takes longer than the evaluation where an event finds the caches cold.

    @_specialize(where Question == MonitoredTarget, Handler == FlagsHandler)
    func plan(_ round: inout EvaluationRound) {
        question.plan(&round)
    }

    @_specialize(where Question == MonitoredTarget, Handler == FlagsHandler)
    func evaluate(
        _ round: inout EvaluationRound,
        _ entries: Range<Int>,
        onlyChanges: Bool
    ) -> (isChange: Bool, error: ReachabilityError?) {
        takeAnswer(from: &round, entries, onlyChanges: onlyChanges)
    }

    @_specialize(where Question == MonitoredTarget, Handler == FlagsHandler)
    func deliver() {
        if case .onMonitorThread = delivery { call() }
    }

    private func schedule() {
        let queue: DispatchQueue
        switch delivery {
        case .onMonitorThread: return
        case .queue(let given): queue = given
        case nil: queue = DispatchQueue(label: "NetworkReachability")
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
                return nil as (Handler, Observed<Answer>)?
            }
            state.delivered = newest.change
            return (handler, newest)
        }
        if let (handler, newest) = next { handler.call(newest) }
        let isStillDue = state.withLock { state in
            state.isScheduled = state.isDue
            return state.isScheduled
        }
        if isStillDue { schedule() }
    }
}
