// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel
import SystemSupport

/// The newest events of a run of `watch --explain`, each with who asked for it.
///
/// The kernel sends a notification to all sockets at once, so that the event of a change is here when the monitor has
/// evaluated it. The process behind its port can be gone soon, so the events are read as they come.
final class WatchedEvents: Sendable {
    /// An evaluation can be so much later than its event: a burst, and a second look.
    fileprivate static let memory = Duration.seconds(2)
    /// What came before a pause of this length was evaluated before what came after it: a burst has shorter ones.
    fileprivate static let pause = Duration.milliseconds(400)
    /// The most events that are kept.
    fileprivate static let limit = 4_096

    fileprivate struct State: ~Copyable {
        var source: LiveEvents
        /// Whether reading failed: nothing more is read.
        var isBroken = false
        /// The events, numbered, with the instants at which they were read.
        var events: [(number: Int, instant: ContinuousClock.Instant, event: Recording.Event)] = []
        var next = 0
        /// The first event that can change the result of a target again.
        var begins: [Int: Int] = [:]
    }

    private let state: Locked<State>

    /// Opens the sockets in the calling thread's network namespace, and reads all tables.
    init() throws(ReachabilityError) {
        state = Locked(State(source: try LiveEvents()))
    }

    /// What is readable when there are events; -1 for nothing.
    var descriptor: Int32 { state.withLock { $0.isBroken ? -1 : $0.source.descriptor } }

    /// Reads the events that are there.
    func read() {
        state.withLock { $0.read() }
    }

    /// The event that changed a result; `nil` for the first result, and where none is known.
    ///
    /// An event that changed it before does not count again, and none before that.
    func cause(of index: Int, from old: Answer?, to new: Answer) -> ChangeCause? {
        state.withLock { state in
            state.read()
            guard old != nil else {
                state.begins[index] = state.next
                return nil
            }
            let addresses = Set([old, new].flatMap { $0?.report?.findings.map(\.address) ?? [] })
            let begin = state.begins[index] ?? 0
            let candidates = state.events.filter { $0.number >= begin && $0.event.concerns(addresses) }
            let pause = candidates.indices.dropLast().last { index in
                candidates[index].instant.duration(to: candidates[index + 1].instant) > Self.pause
            }
            let events = candidates.dropFirst(pause.map { $0 + 1 } ?? 0)
            guard let cause = ChangeCause.first(of: events.map(\.event), from: old, to: new),
                let first = events.first(where: { $0.event == cause.event })
            else { return nil }
            state.begins[index] = first.number + 1
            return cause
        }
    }
}

extension WatchedEvents.State {
    fileprivate mutating func read() {
        let now = ContinuousClock.now
        do {
            for event in try isBroken ? [] : source.read() {
                events.append((next, now, event))
                next += 1
            }
        } catch {
            isBroken = true
            printError("the causes of changes are not shown any more: \(error)")
        }
        let first = events.firstIndex { $0.instant.duration(to: now) < WatchedEvents.memory } ?? events.count
        events.removeFirst(max(first, events.count - WatchedEvents.limit))
    }
}

extension Recording.Event {
    /// Whether the answers about addresses can depend on the event.
    fileprivate func concerns(_ addresses: Set<IPAddress>) -> Bool {
        guard case .route(let prefix, _, _) = subject else { return true }
        return addresses.contains { prefix.contains($0) }
    }
}
