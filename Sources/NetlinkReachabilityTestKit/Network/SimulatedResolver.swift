// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import NetlinkRoute
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
            guard let resolution = answer(question.name).resolution(families: question.families) else {
                continue
            }
            end(question, resolution)
        }
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        let result = Locked<HostResolution?>(nil)
        let done = DispatchSemaphore(value: 0)
        begin(name, families: families, timeout: timeout, countedBy: nil) { resolution in
            result.withLock { $0 = resolution }
            done.signal()
        }
        done.wait()
        return result.withLock { $0 } ?? .timedOut
    }

    func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (HostResolution) -> Void
    ) {
        if let resolution = answer(name).resolution(families: families) { return completion(resolution) }
        let question = Question(name: name, families: families, work: work, completion: completion)
        hanging.withLock { $0[ObjectIdentifier(question)] = (question, nil) }
        let timer = clock.schedule(at: clock.now.advanced(by: timeout)) { [weak self] in
            self?.end(question, .timedOut)
        }
        hanging.withLock { $0[ObjectIdentifier(question)]?.timer = timer }
        // A question that hangs is not in flight.
        work?.end()
        // The answer can have changed before the question was stored.
        answersChanged()
    }

    private func end(_ question: Question, _ resolution: HostResolution) {
        let ended = hanging.withLock { $0.removeValue(forKey: ObjectIdentifier(question)) }
        guard let ended else { return }
        if let timer = ended.timer { clock.cancel(timer) }
        question.work?.begin()
        question.completion(resolution)
    }
}

extension SimulatedResolver {
    /// A question that hangs.
    private final class Question: Sendable {
        let name: String
        let families: ReachabilityOptions.Families
        let work: InFlightCounter?
        let completion: @Sendable (HostResolution) -> Void

        init(
            name: String,
            families: ReachabilityOptions.Families,
            work: InFlightCounter?,
            completion: @escaping @Sendable (HostResolution) -> Void
        ) {
            self.name = name
            self.families = families
            self.work = work
            self.completion = completion
        }
    }
}
