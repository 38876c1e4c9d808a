// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import SystemSupport

/// The resolver of a simulated network, which answers at once or hangs until the answer changes.
final class SimulatedResolver: HostResolver {
    private let clock: ManualClock
    private let answer: @Sendable (String) -> SimulatedNames.Answer
    /// The hanging queries, by their timers.
    private let hanging = Locked<[UInt64: Request]>([:])

    init(clock: ManualClock, answer: @escaping @Sendable (String) -> SimulatedNames.Answer) {
        self.clock = clock
        self.answer = answer
    }

    /// The number of resolutions that hang.
    var hangingCount: Int { hanging.withLock { $0.count } }

    /// Ends the hanging resolutions that have an answer now.
    func answersChanged() {
        for (timer, request) in hanging.withLock({ $0 }) {
            guard let result = answer(request.query.name).result(families: request.query.families) else {
                continue
            }
            end(timer, result)
        }
    }

    func begin(
        _ query: NameQuery,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        if let result = answer(query.name).result(families: query.families) {
            completion(result)
            return {}
        }
        let request = Request(query: query, work: work, completion: completion)
        // With the lock held, the timer cannot end a query that is not stored yet.
        let timer = hanging.withLock { hanging in
            let timer = clock.schedule(at: clock.now.advanced(by: query.timeout)) { [weak self] timer in
                self?.end(timer, .success(.timedOut))
            }
            hanging[timer] = request
            return timer
        }
        // A hanging query does not count as work in progress.
        work?.end()
        // The answer can have changed before the query was stored.
        answersChanged()
        return { [weak self] in self?.end(timer, nil) }
    }

    /// Ends a query with a result, or without a result if it is cancelled.
    private func end(_ timer: UInt64, _ result: ResolvedName?) {
        guard let request = hanging.withLock({ $0.removeValue(forKey: timer) }) else { return }
        clock.cancel(timer)
        request.work?.begin()
        if let result { request.completion(result) }
    }
}

extension SimulatedResolver {
    /// A hanging query.
    private struct Request {
        let query: NameQuery
        let work: InFlightCounter?
        let completion: @Sendable (ResolvedName) -> Void
    }
}
