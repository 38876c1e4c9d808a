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
}
