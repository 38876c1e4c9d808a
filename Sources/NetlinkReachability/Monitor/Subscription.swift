// SPDX-License-Identifier: Apache-2.0

/// An observation's registration with the monitor.
struct Subscription<Question: MonitorQuery>: Sendable {
    let registration: SharedMonitor.Registration
    /// What the first evaluation found; `nil` for a name, which has to be resolved first.
    let first: Result<Question.Answer, ReachabilityError>?

    /// Joins the monitor, then evaluates the query on the calling thread, unless a name has to be resolved.
    ///
    /// In this order no change is lost: the monitor evaluates again as soon as the observation begins.
    ///
    /// - Throws: `ReachabilityError` if the monitor cannot run; nothing is registered then.
    init(_ question: Question, _ monitor: SharedMonitor) throws(ReachabilityError) {
        registration = try monitor.join()
        guard question.namedTarget == nil else {
            first = nil
            return
        }
        first = Result { () throws(ReachabilityError) in try question.answer(from: monitor.facts) }
    }

    /// Offers the first result to a sink, then has the monitor offer the later ones.
    ///
    /// - Parameters:
    ///   - sink: What receives the results.
    ///   - deadline: When the observation expires; `nil` for never.
    func begin(_ sink: some AnswerSink<Question>, until deadline: MonitorInstant? = nil) {
        if let first { sink.offer(first) }
        registration.mailbox.post(.add(registration.id, Observation(sink), deadline))
    }
}
