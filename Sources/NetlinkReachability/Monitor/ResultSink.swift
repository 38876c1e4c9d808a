// SPDX-License-Identifier: Apache-2.0

/// Whether the result of an evaluation is delivered, and its error.
typealias EvaluationOutcome = (isChange: Bool, error: ReachabilityError?)

/// The results of an observation, whatever their type.
protocol ResultSink: AnyObject, Sendable {
    /// Offers a failure; returns whether it is delivered.
    func fail(_ error: ReachabilityError, _ index: Int) -> Bool
    /// Delivers the error of an observation whose time is over.
    func expire()
    /// A query and its newest result, in words.
    func trace(_ index: Int) -> (query: String, result: String)
}
