// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkSource {
    /// Orders addresses as a program tries them: RFC 6724, section 6.
    ///
    /// ```swift
    /// for address in try NetworkSource.kernel.ordered(answers) where address.isReachable {
    ///     print(address.address, address.sourceAddress?.description ?? "-", address.rule?.description ?? "-")
    /// }
    /// ```
    ///
    /// The kernel is asked about all addresses in one batch, and selects their source addresses. Addresses that packets
    /// cannot leave for come last, and have no ``OrderedAddress/rank``. Addresses that no rule distinguishes keep the
    /// given order.
    ///
    /// - Parameters:
    ///   - addresses: The addresses. Those of families that the options exclude are left out.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the addresses that can be reached, beginning with that of
    ///     the first: RFC 8305, section 4.
    ///   - policy: The labels, precedences and scopes; `nil` for those of `/etc/gai.conf`, and for the standard ones
    ///     in a recorded or simulated network.
    /// - Returns: The addresses, in order.
    /// - Throws: `ReachabilityError` if one of the queries could not be answered.
    public func ordered(
        _ addresses: some Collection<IPAddress>,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) throws(ReachabilityError) -> [OrderedAddress] {
        var ordering = AddressOrdering(facts, options, policy)
        return try ordering.order(Array(addresses), interleaved: interleaved)
    }

    /// Orders the addresses of a target as a program tries them, and blocks the thread while a name is resolved.
    ///
    /// A name is waited for at most for ``ReachabilityOptions/Resolution/timeout``.
    ///
    /// - Parameters:
    ///   - target: The target. The default path has the address 0.0.0.0.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the addresses that can be reached.
    ///   - policy: The labels, precedences and scopes; `nil` for those of the host.
    /// - Returns: The addresses, in order; none for a name that cannot be resolved.
    /// - Throws: `ReachabilityError` if the resolver could not run, or one of the queries could not be answered.
    public func blockingOrdered(
        _ target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) throws(ReachabilityError) -> [OrderedAddress] {
        var resolution = HostResolution.notFound
        if let name = target.name {
            resolution = try facts.resolver.resolve(
                name, families: options.families, timeout: options.resolution.timeout)
        }
        return try ordered(target, resolution, options, interleaved, policy)
    }

    /// Orders the addresses of a target as a program tries them, without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let addresses = try await NetworkSource.kernel.ordered(.host("example.com"), interleaved: true)
    /// ```
    ///
    /// The task is suspended while a name is resolved.
    ///
    /// - Parameters:
    ///   - target: The target. The default path has the address 0.0.0.0.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the addresses that can be reached.
    ///   - policy: The labels, precedences and scopes; `nil` for those of the host.
    /// - Returns: The addresses, in order; none for a name that cannot be resolved.
    /// - Throws: `ReachabilityError` if the resolver could not run, or one of the queries could not be answered;
    ///   `CancellationError` if the task is cancelled while a name is resolved.
    nonisolated(nonsending) public func ordered(
        _ target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) async throws -> [OrderedAddress] {
        var resolution = HostResolution.notFound
        if let name = target.name { resolution = try await facts.resolver.resolved(name, options).get() }
        return try ordered(target, resolution, options, interleaved, policy)
    }

    private func ordered(
        _ target: ReachabilityTarget,
        _ resolution: HostResolution,
        _ options: ReachabilityOptions,
        _ interleaved: Bool,
        _ policy: AddressPolicy?
    ) throws(ReachabilityError) -> [OrderedAddress] {
        var options = options
        let addresses: [IPAddress]
        switch target.kind {
        case .address(let address): addresses = [address]
        case .defaultPath: addresses = [.anyV4]
        case .pair(let local, let remote): (addresses, options.sourceAddress) = ([remote], local)
        case .host: addresses = resolution.destinations
        }
        return try ordered(addresses, options: options, interleaved: interleaved, policy: policy)
    }
}
