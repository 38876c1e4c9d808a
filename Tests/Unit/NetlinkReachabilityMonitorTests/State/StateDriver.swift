// SPDX-License-Identifier: Apache-2.0

import RoutingModel

@testable import NetlinkReachability

/// Drives the pure state machine: the test moves the time, and a closure evaluates.
struct StateDriver {
    typealias ID = MonitorState.ID

    var state: MonitorState
    var now = MonitorInstant(nanoseconds: 0)
    /// How often the default path was looked up.
    var looks = 0
    /// The names that were to be resolved, in order.
    var resolutions: [(id: ID, generation: UInt32)] = []
    /// The observations that expired, in order.
    var expired: [ID] = []
    /// Evaluates an observation; `nil` is a failure.
    var evaluate: (ID) -> RouteDependencies? = { _ in RouteDependencies() }

    init(isPolling: Bool = false) {
        state = MonitorState(isPolling: isPolling)
    }

    /// Moves the time to a number of milliseconds after the start.
    mutating func move(to milliseconds: Int) {
        now = MonitorInstant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    /// Does all that is due now, and returns the evaluated observations in order.
    @discardableResult
    mutating func run() -> [ID] {
        var evaluated: [ID] = []
        while true {
            let actions = state.advance(to: now)
            if actions.isEmpty { return evaluated }
            for action in actions.others { perform(action) }
            for id in actions.evaluations {
                evaluated.append(id)
                state.evaluated(id, evaluate(id), at: now)
            }
        }
    }

    /// Moves the time, and does all that is due then.
    @discardableResult
    mutating func run(at milliseconds: Int) -> [ID] {
        move(to: milliseconds)
        return run()
    }

    /// When the state machine wants to be called next, in milliseconds after the start.
    var deadline: Int? {
        state.deadline.map { Int($0.nanoseconds / 1_000_000) }
    }

    /// Feeds a notification.
    mutating func note(_ notification: KernelNotification) {
        state.note(notification, at: now)
    }

    /// Adds observations that each depend on one address, and performs their first evaluations.
    mutating func watch(_ targets: [ID: String]) {
        let addresses = targets.mapValues { IPAddress($0) }
        evaluate = { id in
            RouteDependencies(addresses: addresses[id].flatMap(\.self).map { [$0] } ?? [])
        }
        for id in targets.keys { state.insert(id, at: now) }
        run()
    }

    private mutating func perform(_ action: MonitorState.Action) {
        switch action {
        case .expire(let id):
            expired.append(id)
        case .resolve(let id, let generation):
            resolutions.append((id, generation))
        case .lookAtPath:
            looks += 1
        }
    }
}

extension SmallSet: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: Element...) {
        self.init()
        for element in elements { insert(element) }
    }
}
