// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The newest events of a run of `watch --explain`, each with who asked for it, and which of them changed an answer.
///
/// The kernel sends a notification to all sockets at once. The process behind its port can be gone soon, so the events
/// are read as they come.
final class WatchedEvents: Sendable {
    /// How long to wait for the event of an answer, in milliseconds: the kernel changes some tables before it says so.
    private static let patience = Duration.milliseconds(100)
    /// How long not to wait again where none came.
    private static let impatience = Duration.seconds(1)

    /// What a target is followed by.
    private struct Followed {
        /// Its number among the events' queries.
        let number: Int
        /// The query about another target instead.
        let query: @Sendable (ReachabilityTarget) -> NetworkQuery<ReachabilityReport>
        /// The address of a name that the query is about; `nil` for another target, and before one is known.
        var address: IPAddress?
    }

    private struct State: ~Copyable {
        var source: LiveEvents
        /// Whether reading failed: nothing more is read.
        var isBroken = false
        /// When to wait again for the event of an answer.
        var waitsFrom = ContinuousClock.now
        var targets: [Int: Followed] = [:]
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
        state.withLock { Self.read(&$0) }
    }

    private static func read(_ state: inout State) {
        guard !state.isBroken else { return }
        do {
            try state.source.read()
        } catch {
            state.isBroken = true
            printError("the causes of changes are not shown any more: \(error)")
        }
    }

    /// Follows a target; a name by the address that answers for it.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - index: Its number in the output.
    ///   - query: What is observed of a target.
    func follow(
        _ target: ReachabilityTarget,
        at index: Int,
        _ query: @escaping @Sendable (ReachabilityTarget) -> NetworkQuery<ReachabilityReport>
    ) {
        state.withLock { state in
            let number = state.source.follow(query(target.isName ? .defaultPath : target))
            state.targets[index] = Followed(number: number, query: query)
        }
    }

    /// The event that changed a result, or those of which one did; none for the first result, and where none is known.
    func causes(of index: Int, from old: Answer?, to new: Answer) -> [ChangeCause] {
        state.withLock { state in
            Self.read(&state)
            guard var followed = state.targets[index] else { return [] }
            let begin = ContinuousClock.now
            let end = begin + Self.patience
            while old != nil, begin >= state.waitsFrom, !state.isBroken,
                !state.source.explains(new, to: followed.number)
            {
                let rest = end - .now
                guard rest > .zero, waitForDescriptor(state.source.descriptor, POLLIN, atMost: rest) else {
                    state.waitsFrom = .now + Self.impatience
                    break
                }
                Self.read(&state)
            }
            let events = state.source.causes(of: new, to: followed.number)
            if let report = new.report, report.target.isName, report.address != followed.address {
                followed.address = report.address
                let target = report.address.map(ReachabilityTarget.address) ?? .defaultPath
                state.source.follow(followed.query(target), insteadOf: followed.number)
                state.targets[index] = followed
            }
            return old == nil ? [] : events.map { ChangeCause($0) }
        }
    }
}
