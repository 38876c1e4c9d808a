// SPDX-License-Identifier: Apache-2.0

/// The times of the next queries to each manager.
struct ManagerSchedule {
    /// The facts are read once for a burst of signals, this long after its first signal.
    static let pause = Duration.milliseconds(50)
    /// How long a manager that did not answer is not queried again, unless it restarts.
    static let silence = Duration.seconds(30)

    private var due: [ManagerName: ContinuousClock.Instant] = [:]
    private var silentUntil: [ManagerName: ContinuousClock.Instant] = [:]

    /// When the next manager is to be queried; `nil` if none is.
    var next: ContinuousClock.Instant? { due.values.min() }

    /// Schedules queries to all managers now, as at the beginning.
    mutating func begin(at now: ContinuousClock.Instant) {
        silentUntil = [:]
        due = Dictionary(uniqueKeysWithValues: ManagerName.allCases.map { ($0, now) })
    }

    /// Schedules queries to managers soon; to a silent manager, after its time has passed.
    mutating func plan(_ names: Set<ManagerName>, at now: ContinuousClock.Instant) {
        for name in names {
            let soon = now + Self.pause
            due[name] = silentUntil[name] ?? min(due[name] ?? soon, soon)
        }
    }

    /// Cancels the next query to a manager.
    mutating func remove(_ name: ManagerName) { due[name] = nil }

    /// Forgets that a manager was silent, because it has started or stopped.
    mutating func forgetSilence(of name: ManagerName) { silentUntil[name] = nil }

    /// Returns whether a manager is to be queried now.
    ///
    /// Afterwards, it is not due until it is scheduled again.
    mutating func take(_ name: ManagerName, at now: ContinuousClock.Instant) -> Bool {
        guard let instant = due[name], instant <= now else { return false }
        due[name] = nil
        silentUntil[name] = nil
        return true
    }

    /// Schedules another query to a manager that did not answer, after a while.
    mutating func silence(of name: ManagerName, at now: ContinuousClock.Instant) {
        silentUntil[name] = now + Self.silence
        plan([name], at: now)
    }
}
