// SPDX-License-Identifier: Apache-2.0

extension PathQuery: ObservableQuery {
    static let evaluation = QueryEvaluation(QueryKind(PathQuery.self))
}

extension NetworkQuery<NetworkPath> {
    /// The default path of this host, through interfaces of some types.
    ///
    /// The path follows the rules of the flags. With a restriction, it is satisfied if a socket that is bound to such
    /// an interface can send to any address. A path that could not be found is a failure, and never an unsatisfied
    /// path. Another reason for the same path is not a change. What it cannot know: see ``NetworkPath``.
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
        Self(
            PathQuery(required: required, prohibited: prohibited, options: options, metering: metering))
    }
}
