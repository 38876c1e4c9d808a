// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// An observation of one query or of many, which ends when it is cancelled or released.
///
/// ```swift
/// final class Uplink {
///     private var observation: NetworkObservation<ReachabilityFlags>?
///
///     func begin() throws {
///         observation = try NetworkReachability(host: "example.com").observe { result in
///             if case .success(let flags) = result { print(flags.letters) }
///         }
///     }
/// }
/// ```
///
/// Keep it for as long as the handler is to be called.
///
/// - One call comes after the other, also with many queries and on a concurrent queue, and with no lock held.
/// - The first call has the current value, and each later one a value that differs from the one before.
/// - A handler that is slower than the network is called with the newest value and skips those in between.
/// - A failure means that the query could not be answered, which is not the same as no. It comes once for as long as
///   evaluations fail in the same way, and the next value means that they succeed again. The monitor tries again after
///   1 s, and then less and less often: the kernel up to every 30 s, a resolver that cannot run up to every 60 s.
/// - No call comes after ``cancel()`` has returned.
///
/// All observations of a source share one thread, which ends with the last of them, and one socket for the kernel's
/// notifications. An idle observation costs only memory.
public final class NetworkObservation<Value: Sendable>: Sendable {
    private let sink: ObservationSink<Value>
    private let monitor: SharedMonitor
    /// The registrations: one is the rule, and needs no memory of its own.
    private let first: MonitorState.ID?
    private let others: [MonitorState.ID]

    /// Registers queries with the monitor, then evaluates them on the calling thread, except names.
    ///
    /// In this order no change is lost: the monitor evaluates again as soon as the observation begins.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - sink: Where their results go.
    ///   - monitor: The monitor.
    ///   - begun: Set to this observation before there is a result.
    ///   - deadline: When the observation expires; `nil` for never.
    /// - Throws: `ReachabilityError` if the monitor cannot run; nothing is registered then.
    init(
        _ queries: [NetworkQuery<Value>],
        _ sink: ObservationSink<Value>,
        _ monitor: SharedMonitor,
        _ begun: WeakObservation<Value>? = nil,
        until deadline: MonitorInstant? = nil
    ) throws(ReachabilityError) {
        let registrations = try queries.map { (_) throws(ReachabilityError) in try monitor.join() }
        self.sink = sink
        self.monitor = monitor
        first = registrations.first?.id
        others = registrations.dropFirst().map(\.id)
        if let begun {
            begun.observation = self
            sink.hold()
        }
        sink.offerFirst(of: queries, monitor)
        for (index, (query, registration)) in zip(queries, registrations).enumerated() {
            if let event = query.evaluation.kind.event {
                let receive: @Sendable (NetworkEvent) -> Void = {
                    sink.offer(.success(event($0)), index)
                    sink.deliver()
                }
                let listener = EventListener(receive: receive, sink: sink)
                registration.mailbox.post(.listen(registration.id, listener, deadline))
            } else {
                let observation = Observation(query, sink, index)
                registration.mailbox.post(.add(registration.id, observation, deadline))
            }
        }
        if begun != nil { sink.release() }
    }

    deinit {
        end(waits: false)
    }

    /// The latest value, of the first query if there are many; `nil` before the first one, and after the end.
    ///
    /// It can be newer than the one that a slow handler was called with. It stays while evaluations fail. The value of
    /// an address, a path or a connection is known as soon as the observation has begun.
    public var current: Value? {
        sink.answered(0)
    }

    /// The latest value of each query, in their order.
    public var currentValues: [Value?] {
        sink.allAnswered
    }

    /// Ends the observation and releases its handler: no call comes after this returns.
    ///
    /// It waits for a call that is running, unless a handler of an observation calls it. So do not hold a lock that the
    /// handler takes. Releasing the observation ends it, too, and waits for nothing.
    public func cancel() {
        end(waits: true)
    }

    func end(waits: Bool) {
        guard sink.close(waits: waits) else { return }
        if let first { monitor.leave(first) }
        for id in others { monitor.leave(id) }
    }
}

/// The observation that a handler is called with, and does not keep.
final class WeakObservation<Value: Sendable>: Sendable {
    private struct Place {
        weak var observation: NetworkObservation<Value>?
    }

    private let place = Locked(Place())

    /// `nil` before it has begun, and after it was released.
    var observation: NetworkObservation<Value>? {
        get { place.withLock { $0.observation } }
        set { place.withLock { $0.observation = newValue } }
    }
}

extension NetworkObservation: CustomDebugStringConvertible {
    /// The latest value: `NetworkObservation(-R -------)`.
    public var debugDescription: String {
        "NetworkObservation(\(sink.allWords.joined(separator: ", ")))"
    }
}

extension ObservationSink {
    /// Evaluates queries in batches, except those with names and for events, and offers their first results.
    fileprivate func offerFirst(of queries: [NetworkQuery<Value>], _ monitor: SharedMonitor) {
        let evaluated = queries.indices.filter {
            queries[$0].namedTarget == nil && !queries[$0].observed.isEvent
        }
        monitor.facts.evaluate(evaluated) { index, batch in
            queries[index].evaluation.kind.plan(queries[index].object, &batch)
        } take: { index, batch, entries in
            let query = queries[index]
            let outcome = query.evaluation.steps.evaluate(query.object, self, index, &batch, entries, false)
            monitor.trace?(NetworkTrace(trace(index), .beginning, isChange: outcome.isChange))
        }
    }
}

extension Observation {
    /// Creates the observation of a query, whose results go to a sink of the same `Value`.
    fileprivate convenience init<Value>(
        _ query: NetworkQuery<Value>,
        _ sink: ObservationSink<Value>,
        _ index: Int
    ) {
        self.init(
            namedTarget: query.namedTarget,
            inputs: query.inputs,
            object: query.object,
            steps: query.evaluation.steps,
            sink: sink,
            index: index
        )
    }
}
