// SPDX-License-Identifier: Apache-2.0

extension NetworkSource {
    /// Asks for the default path of this host, through interfaces of some types.
    ///
    /// ```swift
    /// let path = try NetworkSource.kernel.path()
    /// print(path.status == .satisfied ? "online" : "offline", path.availableInterfaces.map(\.name))
    /// ```
    ///
    /// The path is that of ``NetworkQuery/path(requiring:prohibiting:options:metering:)``. The queries go to the kernel
    /// together, and it blocks for microseconds.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can take; `nil` for any.
    ///   - prohibited: The types that the path must not take.
    ///   - options: The socket whose path it is.
    ///   - metering: Decides which interfaces are expensive or constrained.
    /// - Returns: The path.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no.
    public func path(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions(),
        metering: NetworkMetering = .unmetered
    ) throws(ReachabilityError) -> NetworkPath {
        try NetworkQuery.path(
            requiring: required, prohibiting: prohibited, options: options, metering: metering
        ).answer(from: facts)
    }

    /// Asks what identifies the network of the default path.
    ///
    /// The identity is that of ``NetworkQuery/identity(requiring:prohibiting:options:)``. It takes the queries of
    /// ``path(requiring:prohibiting:options:metering:)``, a dump of the kernel's neighbours, and on Wi-Fi a query to
    /// nl80211.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can take; `nil` for any.
    ///   - prohibited: The types that the path must not take.
    ///   - options: The socket whose path it is.
    /// - Returns: The identity; `nil` if nothing is known.
    /// - Throws: `ReachabilityError` if the query could not be answered.
    public func identity(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions()
    ) throws(ReachabilityError) -> NetworkIdentity? {
        try NetworkQuery.identity(requiring: required, prohibiting: prohibited, options: options)
            .answer(from: facts)
    }

    /// Asks for the default path of a socket, and on request what identifies its network.
    package func path(
        options: ReachabilityOptions,
        metering: NetworkMetering,
        identifies: Bool
    ) throws(ReachabilityError) -> NetworkPath {
        try NetworkQuery.path(options: options, metering: metering, identifies: identifies)
            .answer(from: facts)
    }
}
