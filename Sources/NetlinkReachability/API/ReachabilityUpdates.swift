// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// The flags as a sequence: the current flags, and then every change.
    ///
    /// ```swift
    /// for await flags in reachability.updates {
    ///     print(flags.letters)
    /// }
    /// ```
    ///
    /// Each iteration is independent, needs no ``start(queue:initial:_:onFailure:)``, and keeps what it needs: the
    /// handle can be released. The same flags never come twice in a row. An iteration that is slower than the network
    /// gets the newest flags and skips those in between.
    ///
    /// The sequence ends when its task is cancelled. It ends without an element if the monitor cannot run. While
    /// evaluations fail, no element comes; ``observations(_:)`` reports both kinds of failures.
    public var updates: Updates {
        Updates(monitor: source.monitor, subject: subject)
    }

    /// The flags as a sequence: see ``NetworkReachability/updates``.
    public struct Updates: AsyncSequence, Sendable {
        /// The flags.
        public typealias Element = ReachabilityFlags
        /// The sequence never fails.
        public typealias Failure = Never

        let monitor: SharedMonitor
        let subject: MonitoredTarget

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator {
            let base = try? ObservationIterator(subject, monitor, takesAnswersOnly: true)
            return Iterator(base: base ?? ObservationIterator(only: nil))
        }

        /// One iteration, which ends when it is released.
        public struct Iterator: AsyncIteratorProtocol {
            var base: ObservationIterator<MonitoredTarget>

            /// Waits for flags that differ from the last ones; `nil` after the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityFlags? {
                await base.next(isolation: actor)?.answer
            }
        }
    }

    /// The target's reports as a sequence, with failures and unresolved names.
    ///
    /// The first element comes at once: ``Observed/unresolved`` for a name, a report or a failure for other targets.
    /// Then an element comes when the flags change, when an evaluation begins to fail or fails otherwise, and with the
    /// first answer after a failure. The flags and the reason of a report are those of one evaluation.
    ///
    /// ```swift
    /// for await observed in reachability.observations() {
    ///     if case .failure(let error) = observed { logger.warning("reachability unknown: \(error)") }
    /// }
    /// ```
    ///
    /// Iterations behave as those of ``updates``. If the monitor cannot run, the sequence ends after one
    /// ``Observed/failure(_:)``.
    ///
    /// - Parameter detail: How much a report contains. The evaluations run on the monitor's thread.
    /// - Returns: The sequence.
    public func observations(_ detail: ReachabilityReport.Detail = .brief) -> Observations {
        Observations(monitor: source.monitor, question: ReportQuestion(target: subject, detail: detail))
    }

    /// Reports as a sequence: see ``NetworkReachability/observations(_:)``.
    public struct Observations: AsyncSequence, Sendable {
        /// A report, a failure, or an unresolved name.
        public typealias Element = Observed<ReachabilityReport>
        /// The sequence never fails: failures are elements.
        public typealias Failure = Never

        let monitor: SharedMonitor
        let question: ReportQuestion

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator {
            do {
                return Iterator(base: try ObservationIterator(question, monitor, takesAnswersOnly: false))
            } catch {
                return Iterator(base: ObservationIterator(only: .failure(error)))
            }
        }

        /// One iteration, which ends when it is released.
        public struct Iterator: AsyncIteratorProtocol {
            var base: ObservationIterator<ReportQuestion>

            /// Waits for a result that differs from the last one; `nil` after the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async -> Observed<ReachabilityReport>? {
                await base.next(isolation: actor)
            }
        }
    }
}
