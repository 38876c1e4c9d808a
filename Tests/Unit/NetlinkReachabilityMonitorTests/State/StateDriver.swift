// SPDX-License-Identifier: Apache-2.0

import RoutingModel

@testable import NetlinkReachability

/// Drives the pure state machine by hand: time moves when it is told to, and questions are answered by a closure.
struct StateDriver {
    typealias ID = MonitorState.ID

    var state: MonitorState
    var now = MonitorInstant(nanoseconds: 0)
    /// What the state machine wanted told, in order.
    var told: [(id: ID, flags: ReachabilityFlags)] = []
    /// How many times the default path was looked at.
    var looks = 0
    /// What is to be resolved, in order.
    var resolutions: [(id: ID, generation: UInt32)] = []
    /// What answers a question about a target.
    var answer: (ID) -> MonitorState.Answer = { _ in .flags([.reachable], MonitorState.Basis()) }

    init(isPolling: Bool = false) {
        state = MonitorState(isPolling: isPolling)
    }

    /// Moves the time on to so many milliseconds after the start.
    mutating func move(to milliseconds: Int) {
        now = MonitorInstant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    /// Does all that is due now, and tells whom it asked about, in order.
    @discardableResult
    mutating func run() -> [ID] {
        var asked: [ID] = []
        while true {
            let actions = state.advance(to: now)
            if actions.isEmpty { return asked }
            for action in actions { perform(action, &asked) }
        }
    }

    /// Moves the time on, and does all that is due then.
    @discardableResult
    mutating func run(at milliseconds: Int) -> [ID] {
        move(to: milliseconds)
        return run()
    }

    /// When the state machine wants to be called next, in milliseconds after the start.
    var deadline: Int? {
        state.deadline.map { Int($0.nanoseconds / 1_000_000) }
    }

    /// Takes an announcement in, now.
    mutating func note(_ change: KernelNotification) {
        state.note(change, at: now)
    }

    /// Adds targets that each ask about one address, and gets the first questions over with.
    mutating func watch(_ targets: [ID: String]) {
        let addresses = targets.mapValues { IPAddress($0) }
        answer = { id in
            let asked = addresses[id].flatMap(\.self).map { [$0] } ?? []
            return .flags([.reachable], MonitorState.Basis(asked: asked))
        }
        for id in targets.keys { state.insert(id, at: now) }
        run()
        told = []
    }

    private mutating func perform(_ action: MonitorState.Action, _ asked: inout [ID]) {
        switch action {
        case .ask(let ids):
            for id in ids {
                asked.append(id)
                if let news = state.answered(id, answer(id), at: now) { told.append((id, news)) }
            }
        case .resolve(let id, let generation):
            resolutions.append((id, generation))
        case .lookAtPath:
            looks += 1
        }
    }
}
