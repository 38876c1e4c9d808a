// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// The resolver of a simulated network, which answers at once or hangs until the answer changes.
final class SimulatedResolver: HostResolver {
    private let clock: ManualClock
    private let answer: @Sendable (String) -> SimulatedNames.Answer
    private let hanging = Locked<[ObjectIdentifier: (question: Question, timer: UInt64?)]>([:])

    init(clock: ManualClock, answer: @escaping @Sendable (String) -> SimulatedNames.Answer) {
        self.clock = clock
        self.answer = answer
    }

    /// The number of resolutions that hang.
    var hangingCount: Int { hanging.withLock { $0.count } }

    /// Ends the hanging resolutions that have an answer now.
    func answersChanged() {
        for question in hanging.withLock({ $0.values.map(\.question) }) {
            guard let result = answer(question.name).result(families: question.families) else { continue }
            end(question, result)
        }
    }

    func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        if let result = answer(name).result(families: families) {
            completion(result)
            return {}
        }
        let question = Question(name: name, families: families, work: work, completion: completion)
        hanging.withLock { $0[ObjectIdentifier(question)] = (question, nil) }
        let timer = clock.schedule(at: clock.now.advanced(by: timeout)) { [weak self] in
            self?.end(question, .success(.timedOut))
        }
        hanging.withLock { $0[ObjectIdentifier(question)]?.timer = timer }
        // A question that hangs is not in flight.
        work?.end()
        // The answer can have changed before the question was stored.
        answersChanged()
        return { [weak self] in self?.end(question, nil) }
    }

    /// Ends a question with a result, or without one if it is cancelled.
    private func end(_ question: Question, _ result: ResolvedName?) {
        let ended = hanging.withLock { $0.removeValue(forKey: ObjectIdentifier(question)) }
        guard let ended else { return }
        if let timer = ended.timer { clock.cancel(timer) }
        question.work?.begin()
        if let result { question.completion(result) }
    }
}

extension SimulatedResolver {
    /// A question that hangs.
    private final class Question: Sendable {
        let name: String
        let families: ReachabilityOptions.Families
        let work: InFlightCounter?
        let completion: @Sendable (ResolvedName) -> Void

        init(
            name: String,
            families: ReachabilityOptions.Families,
            work: InFlightCounter?,
            completion: @escaping @Sendable (ResolvedName) -> Void
        ) {
            self.name = name
            self.families = families
            self.work = work
            self.completion = completion
        }
    }
}
