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

extension IdentityQuery: ObservableQuery {
    static let evaluation = QueryEvaluation(QueryKind(IdentityQuery.self))
}

extension NetworkQuery<NetworkIdentity?> {
    /// What identifies the network of the default path, whenever it changes; `nil` while nothing is known: in
    /// recordings and simulated networks, on tunnels, and before the first packet to a gateway.
    ///
    /// A gateway counts once the kernel knows its hardware address. The kernel notifies of that and of each change, so
    /// that a move to another network is delivered although its addresses are the same. Nothing is polled, unless the
    /// kernel refuses these notifications. The first such observation makes the monitor read notifications of
    /// neighbours, which are frequent in large networks, for as long as it runs.
    ///
    /// It locates the user: see ``NetworkIdentity``. Traces and debug descriptions do not contain it.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can take; `nil` for any.
    ///   - prohibited: The types that the path must not take.
    ///   - options: The socket whose path it is.
    /// - Returns: The query.
    public static func identity(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        let query = PathQuery(
            required: required, prohibited: prohibited, options: options, identifies: true)
        return Self(IdentityQuery(query: query))
    }
}

extension NetworkQuery<NetworkPath> {
    /// The default path of a socket, and on request what identifies its network.
    package static func path(
        options: ReachabilityOptions,
        metering: NetworkMetering,
        identifies: Bool
    ) -> Self {
        Self(PathQuery(options: options, metering: metering, identifies: identifies))
    }
}
