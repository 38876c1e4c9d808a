// SPDX-License-Identifier: Apache-2.0

/// When each manager is asked next.
struct ManagerSchedule {
    /// A burst of signals is read once, this long after its first one.
    static let pause = Duration.milliseconds(50)
    /// A manager that did not answer is not asked again before this time has passed, unless it starts again.
    static let silence = Duration.seconds(30)

    private var due: [ManagerName: ContinuousClock.Instant] = [:]
    private var silentUntil: [ManagerName: ContinuousClock.Instant] = [:]

    /// When a manager is to be asked; `nil` if none is.
    var next: ContinuousClock.Instant? { due.values.min() }

    /// Has all managers asked at once, as none was asked before.
    mutating func begin(at now: ContinuousClock.Instant) {
        silentUntil = [:]
        due = Dictionary(uniqueKeysWithValues: ManagerName.allCases.map { ($0, now) })
    }

    /// Has managers asked soon, and one that is silent when its time has passed.
    mutating func plan(_ names: Set<ManagerName>, at now: ContinuousClock.Instant) {
        for name in names {
            let soon = now + Self.pause
            due[name] = silentUntil[name] ?? min(due[name] ?? soon, soon)
        }
    }

    /// Has a manager not asked.
    mutating func remove(_ name: ManagerName) { due[name] = nil }

    /// Forgets that a manager was silent, as it has started or ended.
    mutating func forgetSilence(of name: ManagerName) { silentUntil[name] = nil }

    /// Whether a manager is to be asked now; the next time it is not, unless it is planned again.
    mutating func take(_ name: ManagerName, at now: ContinuousClock.Instant) -> Bool {
        guard let instant = due[name], instant <= now else { return false }
        due[name] = nil
        silentUntil[name] = nil
        return true
    }

    /// Has a manager that did not answer asked again after a while.
    mutating func noteSilence(of name: ManagerName, at now: ContinuousClock.Instant) {
        silentUntil[name] = now + Self.silence
        plan([name], at: now)
    }
}
