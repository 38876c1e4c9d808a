// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// The resolver of a simulated network, which answers at once or hangs until the answer changes.
final class SimulatedResolver: HostResolver {
    private let clock: ManualClock
    private let answer: @Sendable (String) -> SimulatedNames.Answer
    private let hanging = Locked(Hanging())

    init(clock: ManualClock, answer: @escaping @Sendable (String) -> SimulatedNames.Answer) {
        self.clock = clock
        self.answer = answer
    }

    /// The number of resolutions that hang.
    var hangingCount: Int { hanging.withLock { $0.questions.count } }

    /// Ends the hanging resolutions that have an answer now.
    func answersChanged() {
        for (number, question) in hanging.withLock({ $0.questions }) {
            guard let result = answer(question.name).result(families: question.families) else { continue }
            end(number, result)
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
        let number = hanging.withLock { $0.add(question) }
        let timer = clock.schedule(at: clock.now.advanced(by: timeout)) { [weak self] in
            self?.end(number, .success(.timedOut))
        }
        hanging.withLock { $0.questions[number]?.timer = timer }
        // A question that hangs is not in flight.
        work?.end()
        // The answer can have changed before the question was stored.
        answersChanged()
        return { [weak self] in self?.end(number, nil) }
    }

    /// Ends a question with a result, or without one if it is cancelled.
    private func end(_ number: UInt64, _ result: ResolvedName?) {
        guard let question = hanging.withLock({ $0.questions.removeValue(forKey: number) }) else { return }
        if let timer = question.timer { clock.cancel(timer) }
        question.work?.begin()
        if let result { question.completion(result) }
    }
}

extension SimulatedResolver {
    /// A question that hangs.
    private struct Question {
        let name: String
        let families: ReachabilityOptions.Families
        let work: InFlightCounter?
        let completion: @Sendable (ResolvedName) -> Void
        var timer: UInt64?
    }

    private struct Hanging {
        var questions: [UInt64: Question] = [:]
        private var lastNumber: UInt64 = 0

        mutating func add(_ question: Question) -> UInt64 {
            lastNumber += 1
            questions[lastNumber] = question
            return lastNumber
        }
    }
}
