// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel
internal import SystemSupport

extension NetworkReachability {
    /// Asks for the flags without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let flags = try await NetworkReachability(host: "example.com").flags()
    /// ```
    ///
    /// The flags are those of the synchronous form, which Swift selects in synchronous functions; in asynchronous ones
    /// it selects this form. A name is resolved on a thread of its own while the task is suspended. An address is
    /// asked about in place: that takes microseconds, less than changing threads.
    ///
    /// - Returns: The flags; an empty set means that packets cannot leave for the target.
    /// - Throws: ``ReachabilityError`` if the question could not be answered, which is not the same as no; with the
    ///   code ``ReachabilityError/Code/cancelled`` if the task is cancelled. It throws at once then; the resolver's
    ///   thread ends when its call returns, at the latest after ``ReachabilityOptions/resolutionTimeout``.
    public func flags() async throws(ReachabilityError) -> ReachabilityFlags {
        try await unblocking { () throws(ReachabilityError) in try self.flags() }
    }

    /// Asks for a report without blocking a thread of the concurrency runtime.
    ///
    /// The report is that of the synchronous form. See the asynchronous `flags()` for where the work is done.
    ///
    /// - Parameter detail: How much the report contains. What it does not contain costs nothing.
    /// - Returns: The flags, and the facts that led to them.
    /// - Throws: ``ReachabilityError`` if the question could not be answered, which is not the same as no; with the
    ///   code ``ReachabilityError/Code/cancelled`` if the task is cancelled.
    public func report(
        _ detail: ReachabilityReport.Detail = .full
    ) async throws(ReachabilityError) -> ReachabilityReport {
        try await unblocking { () throws(ReachabilityError) in try self.report(detail) }
    }

    /// Runs a question: in place for an address, on a thread of its own for a name.
    private func unblocking<Answer: Sendable>(
        _ question: @escaping @Sendable () throws(ReachabilityError) -> Answer
    ) async throws(ReachabilityError) -> Answer {
        guard case .host = target.kind else { return try question() }
        let (answers, continuation) = AsyncStream.makeStream(of: Result<Answer, ReachabilityError>.self)
        let hasStarted = BackgroundThread.start("netlink-ask") {
            continuation.yield(Result(catching: question))
        }
        guard hasStarted else {
            throw ReachabilityError(
                RoutingFault(kind: .thread, operation: "start a thread for the resolver", number: EAGAIN))
        }
        // It ends without an answer if the task is cancelled.
        for await answer in answers { return try answer.get() }
        throw ReachabilityError(
            .cancelled, operation: "ask about a name", message: "the task was cancelled")
    }
}
