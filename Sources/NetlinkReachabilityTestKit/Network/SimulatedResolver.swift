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
    private let hanging = Locked<[ObjectIdentifier: Question]>([:])

    init(clock: ManualClock, answer: @escaping @Sendable (String) -> SimulatedNames.Answer) {
        self.clock = clock
        self.answer = answer
    }

    /// The number of resolutions that hang.
    var hangingCount: Int { hanging.withLock { $0.count } }

    /// Ends the hanging resolutions that have an answer now.
    func answersChanged() {
        for question in hanging.withLock({ Array($0.values) }) {
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
        try resolve(name, families: families, timeout: timeout, countedBy: nil)
    }

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?
    ) throws(RoutingFault) -> HostResolution {
        if let resolution = answer(name).resolution(families: families) { return resolution }
        let question = Question(name: name, families: families, work: work)
        hanging.withLock { $0[ObjectIdentifier(question)] = question }
        let timer = clock.schedule(at: clock.now.advanced(by: timeout)) { [weak self] in
            self?.end(question, .timedOut)
        }
        defer { clock.cancel(timer) }
        // Settling does not wait for a resolution that hangs.
        work?.end()
        // The answer can have changed before the resolution was registered.
        answersChanged()
        return question.wait()
    }

    private func end(_ question: Question, _ resolution: HostResolution) {
        let wasHanging = hanging.withLock { $0.removeValue(forKey: ObjectIdentifier(question)) != nil }
        guard wasHanging else { return }
        // Counts it as in flight again before the caller continues.
        question.work?.begin()
        question.end(resolution)
    }
}

extension SimulatedResolver {
    /// A resolution that hangs, with the thread that waits for it.
    private final class Question: Sendable {
        let name: String
        let families: ReachabilityOptions.Families
        let work: InFlightCounter?
        private let resolution = Locked<HostResolution?>(nil)
        private let semaphore = DispatchSemaphore(value: 0)

        init(name: String, families: ReachabilityOptions.Families, work: InFlightCounter?) {
            self.name = name
            self.families = families
            self.work = work
        }

        func wait() -> HostResolution {
            semaphore.wait()
            return resolution.withLock { $0 } ?? .timedOut
        }

        func end(_ resolution: HostResolution) {
            self.resolution.withLock { $0 = resolution }
            semaphore.signal()
        }
    }
}
