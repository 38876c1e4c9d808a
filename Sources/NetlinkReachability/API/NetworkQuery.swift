// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

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
    /// What is done with the query.
    let kind: QueryKind<Value>
    /// The query, whose type the kind knows.
    let object: QueryKind<Value>.Query
    /// The target whose name the monitor resolves first; `nil` if there is no name.
    let namedTarget: MonitoredTarget?
    /// Whether the answer depends on which name servers are configured.
    let readsNameservers: Bool
    /// Makes an element of an event; `nil` for queries that are evaluated.
    let event: (@Sendable (NetworkEvent) -> Value)?

    init<Query: MonitorQuery<Value>>(
        _ query: Query,
        event: (@Sendable (NetworkEvent) -> Value)? = nil
    ) {
        kind = Query.kind
        object = Box(query)
        namedTarget = query.namedTarget
        readsNameservers = query.readsNameservers
        self.event = event
    }

    /// Creates the query whose values have an index.
    init<Element>(_ query: NetworkQuery<Element>, index: Int) where Value == (index: Int, value: Element) {
        kind = QueryKind(query.kind, index: index)
        object = query.object
        namedTarget = query.namedTarget
        readsNameservers = query.readsNameservers
        if let event = query.event { self.event = { (index, event($0)) } } else { event = nil }
    }
}

extension NetworkQuery: CustomStringConvertible {
    /// What is observed, such as `flags of 192.0.2.1`.
    public var description: String { kind.describe(object) }
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
    public static var events: Self { Self(EventQuery()) { $0 } }
}
