// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetworkManagers

struct ManagerScheduleTests {
    private let start = ContinuousClock.now

    /// A schedule in which a manager was asked and did not answer.
    private func silent(_ name: ManagerName) -> ManagerSchedule {
        var schedule = ManagerSchedule()
        schedule.silence(of: name, at: start)
        return schedule
    }

    @Test func `at the beginning each manager is asked at once, and once`() {
        var schedule = ManagerSchedule()
        schedule.begin(at: start)
        let first = ManagerName.allCases.filter { schedule.take($0, at: start) }
        let second = ManagerName.allCases.filter { schedule.take($0, at: start) }
        #expect(first == ManagerName.allCases)
        #expect(second.isEmpty)
        #expect(schedule.next == nil)
    }

    @Test func `a burst of signals is read once, after its first one`() {
        var schedule = ManagerSchedule()
        schedule.plan([.networkManager], at: start)
        schedule.plan([.networkManager], at: start + .milliseconds(40))
        #expect(schedule.next == start + ManagerSchedule.pause)
    }

    @Test func `a signal of another manager does not have a silent one asked`() {
        var schedule = silent(.networkd)
        schedule.plan([.networkManager], at: start)
        let asked = ManagerName.allCases.filter { schedule.take($0, at: start + .seconds(1)) }
        #expect(asked == [.networkManager])
    }

    @Test func `a silent manager is asked again when its time has passed, whatever it signals`() {
        var schedule = silent(.networkd)
        schedule.plan([.networkd], at: start + .seconds(1))
        #expect(schedule.next == start + ManagerSchedule.silence)
        let isAsked = schedule.take(.networkd, at: start + ManagerSchedule.silence)
        #expect(isAsked)
    }

    @Test func `a silent manager that starts again is asked soon`() {
        var schedule = silent(.networkd)
        schedule.forgetSilence(of: .networkd)
        schedule.plan([.networkd], at: start + .seconds(1))
        #expect(schedule.next == start + .seconds(1) + ManagerSchedule.pause)
    }
}
