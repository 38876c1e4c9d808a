// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import RoutingModel
internal import SystemSupport

/// Whether the result of an evaluation is delivered, and its error.
typealias EvaluationOutcome = (isChange: Bool, error: ReachabilityError?)

/// Compares the results of an observation, and delivers changes to its handler or iteration.
///
/// The newest result of each query is stored. Queries with a result that the receiver does not know yet wait in a
/// queue. The receiver takes one result after the other: calls never overlap, not even on a concurrent queue, and a
/// slow receiver continues with the newest results and skips older ones.
///
/// At most one block is enqueued or running on a handler's queue. On the monitor's thread, ``deliver()`` does the
/// work of that block. An iteration is woken by an element of its stream.
final class ObservationSink<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, ReachabilityError>
    typealias Handler = @Sendable (_ index: Int, _ result: Outcome) -> Void
    /// A result, and the index of its query.
    typealias Item = (index: Int, result: Outcome)

    /// The receiver of the results.
    enum Receiver: Sendable {
        /// Called on the queue; `nil` for the monitor's thread.
        case handler(Handler, DispatchQueue?)
        /// The continuation is boxed: its type has no fixed layout, and the runtime would copy each receiver.
        case iteration(Box<AsyncStream<Void>.Continuation>, IterationTracker?)
    }

    /// The selection of the results that the receiver gets.
    struct Selection: Sendable {
        /// Whether the first answer of a query is only a baseline for comparison.
        var skipsFirst = false
        /// Whether failures are dropped.
        var skipsFailures = false
        /// Whether every result is kept for the receiver, and no newer result replaces an unread one.
        var keepsAll = false
        /// The last result of an observation that expires.
        var expiry: ReachabilityError?
    }

    private struct Place {
        let query: any Query<Value>
        var newest: Outcome?
        var isDue = false
        /// The last result that the receiver got.
        var delivered: Outcome?
        var answered: Value?

        func isSame(_ result: Outcome, as other: Outcome?) -> Bool {
            result.isSame(as: other) { query.areSame($0, $1) }
        }
    }

    private struct State {
        /// `nil` after the observation has ended.
        var receiver: Receiver?
        /// Whether a block is enqueued or running, or the iteration has been woken.
        var isScheduled = false
        /// Whether the handler is running.
        var isCalling = false
        var places: [Place]
        /// The queries with undelivered results, from `firstDue` on; with the result if every result is kept.
        var due: [(index: Int, result: Outcome?)] = []
        var firstDue = 0
        /// Closures to call when the handler has returned.
        var waiting: [@Sendable () -> Void] = []
    }

    /// The most events that are kept for a slow receiver, which gets the oldest of them first.
    private static var eventLimit: Int { 256 }

    private let selection: Selection
    /// Whether the handler is called on the monitor's thread.
    private let isOnThread: Bool
    private let work: InFlightCounter?
    private let state: Locked<State>

    init(
        _ queries: [any Query<Value>],
        _ receiver: Receiver,
        _ selection: Selection,
        work: InFlightCounter?
    ) {
        self.selection = selection
        isOnThread = if case .handler(_, nil) = receiver { true } else { false }
        self.work = work
        state = Locked(State(receiver: receiver, places: queries.map { Place(query: $0) }))
    }

    /// The last answer to the only query; `nil` before the first answer, with several queries, and after the end.
    var answered: Value? {
        state.withLock { state in
            state.receiver == nil || state.places.count != 1 ? nil : state.places[0].answered
        }
    }

    /// The last answer to each query, in words.
    var allWords: [String] {
        let (places, hasEnded) = state.withLock { ($0.places, $0.receiver == nil) }
        return places.map { place in hasEnded ? "nil" : place.answered.map { place.query.words($0) } ?? "nil"
        }
    }

    /// A query and its newest result, in words.
    func trace(_ index: Int) -> (query: String, result: String) {
        let place = state.withLock { $0.places[index] }
        let result =
            switch place.newest {
            case .success(let value): place.query.words(value)
            case .failure(let error): "\(error)"
            case nil: "nothing"
            }
        return (place.query.description, result)
    }

    // MARK: Results

    /// Records the result of an evaluation, without waiting.
    ///
    /// - Returns: Whether the result differs from the one before and is delivered.
    @discardableResult
    func offer(_ result: Outcome, _ index: Int) -> Bool {
        let (isChange, woken) = state.withLock { state in
            let answer = result.answer
            guard state.receiver != nil, answer != nil || !selection.skipsFailures else {
                return (false, nil as Receiver?)
            }
            let isChange = !state.places[index].isSame(result, as: state.places[index].newest)
            state.places[index].newest = result
            let isSkipped = selection.skipsFirst && answer != nil && state.places[index].answered == nil
            if let answer { state.places[index].answered = answer }
            if isSkipped {
                state.places[index].delivered = result
            } else if isChange {
                becomeDue(index, result, &state)
            } else if !selection.keepsAll, state.places[index].delivered != nil, !state.places[index].isDue {
                // The result equals the delivered one. The older copy is released: two values of a connection use
                // much memory.
                state.places[index].delivered = result
            }
            return (isChange, wakes(&state))
        }
        if let woken { wake(woken) }
        return isChange
    }

    /// Records the result of an evaluation.
    ///
    /// With `onlyChanges`, an answer that equals the last one is dropped.
    func offer(_ result: Outcome, _ index: Int, onlyChanges: Bool) -> EvaluationOutcome {
        switch result {
        case .failure(let error): return (offer(result, index), error)
        case .success(let answer):
            guard onlyChanges else { return (offer(result, index), nil) }
            let isLast = state.withLock { state in
                let place = state.places[index]
                return state.receiver != nil && place.answered.map { place.query.areSame(answer, $0) } == true
            }
            return (isLast ? false : offer(result, index), nil)
        }
    }

    /// Delivers the error of an observation whose deadline has passed.
    func expire() {
        let woken = state.withLock { state in
            if let expiry = selection.expiry { state.due.append((0, .failure(expiry))) }
            return wakes(&state)
        }
        if let woken { wake(woken) }
    }

    /// Holds back results until ``release()``: a handler could end an observation that is not registered yet.
    func hold() {
        state.withLock { $0.isScheduled = true }
    }

    /// Enqueues the results since ``hold()``.
    func release() {
        let woken = state.withLock { state in
            state.isScheduled = false
            return wakes(&state)
        }
        if let woken { wake(woken) }
    }

    private func becomeDue(_ index: Int, _ result: Outcome, _ state: inout State) {
        if selection.keepsAll || state.places[index].query.isEvent {
            state.due.append((index, result))
            // The limit applies to events only: a wait reads all other results at once.
            if !selection.keepsAll, state.due.count - state.firstDue > Self.eventLimit { skipDue(&state) }
        } else if !state.places[index].isDue {
            state.places[index].isDue = true
            state.due.append((index, nil))
        }
    }

    /// Removes and returns the next result that the receiver does not know; `nil` if there is none.
    private func popDue(_ state: inout State) -> Item? {
        while state.firstDue < state.due.count {
            let (index, kept) = state.due[state.firstDue]
            skipDue(&state)
            state.places[index].isDue = false
            guard let result = kept ?? state.places[index].newest else { continue }
            // A result can change back to the delivered one before the receiver reads it.
            if state.places[index].isSame(result, as: state.places[index].delivered) { continue }
            state.places[index].delivered = result
            return (index, result)
        }
        return nil
    }

    /// Removes the first undelivered query from the queue.
    private func skipDue(_ state: inout State) {
        state.firstDue += 1
        if state.firstDue == state.due.count {
            // Frees the buffer, which would be most of the memory of an idle sink.
            (state.due, state.firstDue) = ([], 0)
        } else if state.firstDue >= 1_024 {
            state.due.removeFirst(state.firstDue)
            state.firstDue = 0
        }
    }

    private func isDue(_ state: State) -> Bool {
        state.firstDue < state.due.count
    }

    /// The receiver if it has to be woken; `nil` otherwise.
    private func wakes(_ state: inout State) -> Receiver? {
        guard !state.isScheduled, isDue(state), let receiver = state.receiver else { return nil }
        state.isScheduled = true
        return receiver
    }

    // MARK: Receivers

    /// Removes and returns the next result of an iteration; `nil` if the iteration has to wait.
    func popNext() -> Item? {
        state.withLock { state in
            guard state.receiver != nil else { return nil }
            let item = popDue(&state)
            state.isScheduled = isDue(state)
            return item
        }
    }

    /// Calls the handler with undelivered results, if the handler runs on the monitor's thread.
    func deliver() {
        guard isOnThread else { return }
        while call() {}
    }

    private func wake(_ receiver: Receiver) {
        switch receiver {
        case .iteration(let continuation, let tracker):
            tracker?.willOffer()
            continuation.value.yield()
        case .handler(_, nil): break
        case .handler(_, let queue?):
            work?.begin()
            queue.async {
                if self.call() { self.wake(receiver) }
                self.work?.end()
            }
        }
    }

    /// Calls the handler with the next result, without a lock.
    ///
    /// - Returns: Whether another result is undelivered.
    private func call() -> Bool {
        callHandler()
        // The handler is released here, before the closures that wait for the end of the call run.
        return finishCall()
    }

    private func callHandler() {
        let next = state.withLock { state in
            guard case .handler(let handler, _) = state.receiver, let item = popDue(&state) else {
                return nil as (Handler, Item)?
            }
            state.isCalling = true
            return (handler, item)
        }
        if let (handler, item) = next { HandlerScope.run { handler(item.index, item.result) } }
    }

    private func finishCall() -> Bool {
        let (isStillDue, waiting) = state.withLock { state in
            state.isCalling = false
            state.isScheduled = state.receiver != nil && isDue(state)
            return (state.isScheduled, state.waiting.isEmpty ? [] : exchange(&state.waiting, with: []))
        }
        for body in waiting { body() }
        return isStillDue
    }

    // MARK: The end

    /// Ends the delivery, and releases the receiver.
    ///
    /// - Parameter waits: Whether to wait for a running call. Inside of a handler, this function never waits: it
    ///   could wait for itself.
    /// - Returns: Whether this call ended the delivery; `false` if it had ended before.
    func close(waits: Bool) -> Bool {
        guard waits, !HandlerScope.isInside else { return close {} }
        let returned = DispatchSemaphore(value: 0)
        let isFirst = close { returned.signal() }
        returned.wait()
        return isFirst
    }

    /// Ends the delivery, and releases the receiver; the task is suspended while a call is running.
    ///
    /// - Returns: Whether this call ended the delivery; `false` if it had ended before.
    nonisolated(nonsending) func close() async -> Bool {
        var isFirst = false
        await withCheckedContinuation { continuation in
            isFirst = close { continuation.resume() }
        }
        return isFirst
    }

    private func close(whenReturned: @escaping @Sendable () -> Void) -> Bool {
        let (isFirst, isCalling) = removeReceiver(whenReturned)
        // No call is running, so the handler is released already.
        if !isCalling { whenReturned() }
        return isFirst
    }

    private func removeReceiver(_ whenReturned: @escaping @Sendable () -> Void) -> (Bool, isCalling: Bool) {
        let (receiver, isCalling) = state.withLock { state in
            let receiver = state.receiver.take()
            (state.due, state.firstDue) = ([], 0)
            if state.isCalling { state.waiting.append(whenReturned) }
            return (receiver, state.isCalling)
        }
        if case .iteration(let continuation, let tracker) = receiver {
            continuation.value.finish()
            tracker?.end()
        }
        return (receiver != nil, isCalling)
    }
}

/// Whether the calling thread is inside of a handler of an observation.
enum HandlerScope {
    /// Thread-specific value: the number of handlers that the thread is running, one inside the other.
    private static let depth: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        precondition(status == 0, "pthread_key_create failed with error \(status)")
        return key
    }()

    static var isInside: Bool { pthread_getspecific(depth) != nil }

    /// Calls a handler.
    static func run(_ handler: () -> Void) {
        let outer = pthread_getspecific(depth)
        pthread_setspecific(depth, UnsafeRawPointer(bitPattern: UInt(bitPattern: outer) + 1))
        handler()
        pthread_setspecific(depth, outer)
    }
}
