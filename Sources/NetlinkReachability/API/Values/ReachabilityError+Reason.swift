// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension ReachabilityError {
    /// Why the target or the connection of a wait that timed out had the value of the last evaluation.
    ///
    /// ```swift
    /// do {
    ///     try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// } catch let error as ReachabilityError where error.reason?.code == .noCarrier {
    ///     print("plug in the cable: \(error)")
    /// }
    /// ```
    ///
    /// It is what the wait found last, and can have changed since: nothing is evaluated for the error. It is `nil` if
    /// that evaluation failed, if the name was not resolved yet, for waits for other values, and for other errors.
    public var reason: ReachabilityReason? { detail as? ReachabilityReason }
}
