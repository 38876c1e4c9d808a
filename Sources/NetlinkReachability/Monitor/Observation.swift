// SPDX-License-Identifier: Apache-2.0

/// A question under observation: what to evaluate, and where changed answers go.
///
/// Every kind of question takes the same path from the subscription to the delivery:
///
///     NetworkReachability: start, updates, observations, wait       NetworkPathMonitor: start, loops
///         MonitoredTarget, ReportQuestion                               PathQuestion
///                                  \                               /
///       Subscription     joins the SharedMonitor, evaluates once on the caller's thread
///       MonitorMailbox   carries the observation to the monitor's thread
///       MonitorState     decides when to evaluate it again
///       MonitorLoop      evaluates it
///       ObservationSink  compares the answer with the previous one, and delivers it if it differs:
///                        CallbackSink on a queue or on the monitor's thread, StreamSink to an iteration, WaitSink to
///                        one waiting task
final class Observation<Question: MonitorQuestion>: QuestionObservation {
    let question: Question
    private let sink: any ObservationSink<Question.Answer>

    init(_ question: Question, _ sink: any ObservationSink<Question.Answer>) {
        self.question = question
        self.sink = sink
    }

    func offer(_ observed: Observed<Question.Answer>) -> Bool {
        sink.offer(observed)
    }

    func expire() {
        sink.expire()
    }
}

/// An observation with its question: an ``Observation`` with a sink, or a ``CallbackSink``, which is both.
protocol QuestionObservation<Question>: AnyObservation {
    associatedtype Question: MonitorQuestion

    var question: Question { get }

    /// Takes the result of an evaluation, as ``ObservationSink/offer(_:)`` does.
    @discardableResult
    func offer(_ observed: Observed<Question.Answer>) -> Bool
}

extension QuestionObservation {
    var namedTarget: MonitoredTarget? { question.namedTarget }
    var readsNameservers: Bool { question.readsNameservers }
    var plainDestination: IPAddress? { question.plainDestination }

    func evaluate(_ facts: NetworkFacts) -> (isChange: Bool, error: ReachabilityError?) {
        offerAnswer(from: facts)
    }

    /// Evaluates the question and offers the result.
    ///
    /// Apart from ``evaluate(_:)``, which ``CallbackSink`` replaces by a specialised function that calls this one.
    func offerAnswer(from facts: NetworkFacts) -> (isChange: Bool, error: ReachabilityError?) {
        do {
            return (offer(.answer(try question.answer(from: facts))), nil)
        } catch {
            return (offer(.failure(error)), error)
        }
    }

    func deliver() {}
    func expire() {}
}

/// An observation of any kind, as the monitor's thread uses it.
protocol AnyObservation: AnyObject, Sendable {
    /// The target whose name has to be resolved first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { get }
    /// Whether the answer depends on which name servers are configured.
    var readsNameservers: Bool { get }
    /// The IPv4 address of a plain question, which is asked together with others; `nil` for other questions.
    var plainDestination: IPAddress? { get }

    /// Evaluates the question and offers the result to the sink.
    func evaluate(_ facts: NetworkFacts) -> (isChange: Bool, error: ReachabilityError?)
    /// Calls a handler that is to be called on the monitor's thread, if it was not called with the newest result.
    func deliver()
    /// The observation's time-out has passed.
    func expire()
}

/// Receives what an observation finds, and delivers what differs from before.
protocol ObservationSink<Answer>: AnyObject, Sendable {
    associatedtype Answer: MonitorAnswer

    /// Takes the result of an evaluation; must not wait.
    ///
    /// - Returns: Whether it differs from the previous one and is delivered.
    @discardableResult
    func offer(_ observed: Observed<Answer>) -> Bool
    /// The observation's time-out has passed.
    func expire()
}

extension ObservationSink {
    func expire() {}
}
