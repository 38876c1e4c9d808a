// SPDX-License-Identifier: Apache-2.0

internal import Glibc

// What the monitor's thread asks, and whom it tells.
extension MonitorLoop {
    /// Asks about some targets, and tells what is new.
    func ask(_ ids: [MonitorState.ID]) {
        let now = clock.now
        for (place, id) in ids.enumerated() {
            guard let error = ask(id, now) else { continue }
            counters.failed += 1
            if error.number == ETIMEDOUT {
                // Each further question would take as long, and nobody would read announcements.
                state.stall(ids[place...], at: now)
                return
            }
        }
    }

    /// Asks about a target, and returns what failed.
    private func ask(_ id: MonitorState.ID, _ now: MonitorInstant) -> ReachabilityError? {
        if let user = users[id] { return ask(id, user, now) }
        return paths[id].flatMap { ask(id, $0, now) }
    }

    private func ask(_ id: MonitorState.ID, _ user: User, _ now: MonitorInstant) -> ReachabilityError? {
        let (result, basis) = routing.observe { flags(of: user.subject, id) }
        counters.asked += 1
        switch result {
        case .success(let flags):
            guard let news = state.answered(id, .flags(flags, basis), at: now) else { return nil }
            counters.notified += 1
            user.sink.offer(news)
            return nil
        case .failure(let error):
            _ = state.answered(id, .failed, at: now)
            return error
        }
    }

    private func ask(
        _ id: MonitorState.ID,
        _ path: MonitoredPath,
        _ now: MonitorInstant
    ) -> ReachabilityError? {
        var source = source
        source.routing = routing
        let (result, basis) = routing.observe { path.find(source) }
        counters.asked += 1
        switch result {
        case .success(let found):
            guard state.foundPath(id, on: basis, at: now), path.tell(found) else { return nil }
            counters.notified += 1
            return nil
        case .failure(let error):
            _ = state.foundPath(id, on: nil, at: now)
            return error
        }
    }

    private func flags(
        of subject: MonitorSubject,
        _ id: MonitorState.ID
    ) -> Result<ReachabilityFlags, ReachabilityError> {
        var source = source
        source.routing = routing
        if let resolution = state.names.resolution(of: id) {
            source.resolver = KnownResolution(resolution: resolution)
        }
        let evaluator = TargetEvaluator(facts: source, options: subject.options)
        do {
            return .success(try evaluator.evaluateMonitored(subject.target, detail: .flags).flags)
        } catch {
            return .failure(error)
        }
    }
}
