// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The newest events of a run of `watch --explain`, with the requester of each, and the events that changed an
/// answer.
///
/// The kernel sends a notification to all sockets at once. The process that owns the port can end soon after, so the
/// events are read immediately.
final class WatchedEvents: Sendable {
    /// How long to wait for the event of an answer, in milliseconds: the kernel changes some tables before it says so.
    private static let patience = Duration.milliseconds(100)
    /// How long not to wait again where none came.
    private static let impatience = Duration.seconds(1)

    /// The queries that follow a target.
    private struct Followed {
        /// The number of the query among the queries of the events.
        let number: Int
        /// The function that makes the query for another target.
        let query: @Sendable (ReachabilityTarget) -> NetworkQuery<ReachabilityReport>
        /// The address for which the query of a name is made; `nil` if the target is not a name, and before an
        /// address is known.
        var address: IPAddress?
    }

    private struct State: ~Copyable {
        var source: LiveEvents
        /// Whether a read failed; no more events are read then.
        var isBroken = false
        /// The time from which to wait again for the event of an answer.
        var waitsFrom = ContinuousClock.now
        var targets: [Int: Followed] = [:]
    }

    private let state: Locked<State>

    /// Opens the sockets in the calling thread's network namespace, and reads all tables.
    init() throws(ReachabilityError) {
        state = Locked(State(source: try LiveEvents()))
    }

    /// The descriptor that is readable when there are events; -1 after a failed read.
    var descriptor: Int32 { state.withLock { $0.isBroken ? -1 : $0.source.descriptor } }

    /// Reads the available events.
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

    /// Follows a target; a name is followed by the address that answers for it.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - index: The index of the target in the output.
    ///   - query: The function that makes the query for a target.
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

    /// The event that changed a result, or several events of which at least one changed it.
    ///
    /// Empty for the first result, and if the event is not known.
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
