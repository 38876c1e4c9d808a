// SPDX-License-Identifier: Apache-2.0

/// What can be observed of a network: the flags or the report of a target, the default path, the status of a
/// connection, events.
///
/// ```swift
/// let observation = try NetworkSource.kernel.observe(.path()) { result in
///     if case .success(let path) = result { print(path) }
/// }
/// ```
///
/// A query is a value: it holds no socket, and can be observed any number of times, also at the same time.
public struct NetworkQuery<Value: Sendable>: Sendable {
    /// The target whose name the monitor resolves first; `nil` if there is no name.
    let namedTarget: MonitoredTarget?
    /// Whether the answer depends on which name servers are configured.
    let readsNameservers: Bool
    /// Whether two answers are equal in what counts as a change.
    let areSame: @Sendable (Value, Value) -> Bool
    /// Adds the targets that the answer needs to a batch.
    let plan: @Sendable (inout EvaluationBatch) -> Void
    /// Answers from a batch that was run, with what ``plan`` added to it; `nil` for events.
    let answer: (@Sendable (inout EvaluationBatch, Range<Int>) throws(ReachabilityError) -> Value)?
    /// Makes an element of an event; `nil` for queries that are evaluated.
    let event: (@Sendable (NetworkEvent) -> Value)?

    init<Query: MonitorQuery<Value>>(_ query: Query) {
        namedTarget = query.namedTarget
        readsNameservers = query.readsNameservers
        areSame = { query.areSame($0, $1) }
        plan = { query.plan(&$0) }
        answer = { (batch, entries) throws(ReachabilityError) in try query.answer(from: &batch, entries) }
        event = nil
    }

    /// Creates a query for events.
    fileprivate init(event: @escaping @Sendable (NetworkEvent) -> Value) {
        namedTarget = nil
        readsNameservers = false
        areSame = { _, _ in false }
        plan = { _ in }
        answer = nil
        self.event = event
    }

    /// Creates the query whose values have an index.
    init<Element>(_ query: NetworkQuery<Element>, index: Int) where Value == (index: Int, value: Element) {
        namedTarget = query.namedTarget
        readsNameservers = query.readsNameservers
        areSame = { query.areSame($0.value, $1.value) }
        plan = query.plan
        if let answer = query.answer {
            self.answer = { (batch, entries) throws(ReachabilityError) in (index, try answer(&batch, entries))
            }
        } else {
            answer = nil
        }
        if let event = query.event { self.event = { (index, event($0)) } } else { event = nil }
    }
}

extension NetworkQuery<ReachabilityFlags> {
    /// The flags of a target, whenever they change.
    ///
    /// While the interface that the target or the options name does not exist, the flags are empty: it can appear.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket that the query is about.
    /// - Returns: The query.
    public static func flags(
        of target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(MonitoredTarget(target: target, options: options))
    }
}

extension NetworkQuery<ReachabilityReport> {
    /// Reports on a target, each of one evaluation.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket that the query is about.
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - change: What counts as a change.
    /// - Returns: The query.
    public static func reports(
        on target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions(),
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Self {
        let target = MonitoredTarget(target: target, options: options)
        return Self(ReportQuery(target: target, detail: detail, changes: change))
    }
}

extension NetworkQuery<NetworkPath> {
    /// The default path of this host, through interfaces of some types.
    ///
    /// The path follows the rules of the flags. With a restriction, it is satisfied if a socket that is bound to such
    /// an interface can send to any address. A path that could not be found is a failure, and never an unsatisfied
    /// path. What it cannot know: see ``NetworkPath``.
    ///
    /// Apple's counterpart is `NWPathMonitor`.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can take; `nil` for any.
    ///   - prohibited: The types that the path must not take.
    ///   - options: The socket whose path it is. While the interface that they name does not exist, the path is
    ///     unsatisfied.
    ///   - metering: Decides which interfaces are expensive or constrained.
    /// - Returns: The query.
    public static func path(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions(),
        metering: NetworkMetering = .unmetered
    ) -> Self {
        let query = PathQuery(required: required, prohibited: prohibited, options: options)
        return Self(PathAnswer(query: query, metering: metering))
    }
}

extension NetworkQuery<PathVerdict> {
    /// The default path of a socket with its reason; another reason for the same path is not a change.
    package static func pathWithReason(options: ReachabilityOptions) -> Self {
        Self(PathQuery(options: options))
    }
}

extension NetworkQuery<ConnectionStatus> {
    /// What becomes of a connection.
    ///
    /// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
    ///
    /// - Parameter connection: The connection; end the observation when its socket is closed.
    /// - Returns: The query.
    public static func status(of connection: NetworkConnection) -> Self {
        Self(ConnectionQuery(connection: connection))
    }
}

extension NetworkQuery<NetworkEvent> {
    /// What happens to the machine and its monitor.
    ///
    /// Events have no current value: the first one comes when something happens. A receiver that is slower gets the
    /// oldest of the last 256 events first.
    public static var events: Self { Self { $0 } }
}
