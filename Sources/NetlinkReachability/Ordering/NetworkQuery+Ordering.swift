// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkQuery<[OrderedAddress]> {
    /// The addresses of a target in the order in which a program tries them: RFC 6724, section 6.
    ///
    /// ```swift
    /// let addresses = try await NetworkSource.kernel.value(of: .order(of: .host("example.com"), interleaved: true))
    /// ```
    ///
    /// A name that cannot be resolved has no addresses. The rest is as with ``order(of:options:interleaved:policy:)``
    /// of addresses.
    ///
    /// - Parameters:
    ///   - target: The target. The default path has the address 0.0.0.0.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the addresses that can be reached.
    ///   - policy: The labels, precedences and scopes; `nil` for those of the host.
    /// - Returns: The query.
    public static func order(
        of target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) -> Self {
        var options = options
        var named: FlagsQuery?
        let addresses: [IPAddress]
        switch target.kind {
        case .address(let address): addresses = [address]
        case .defaultPath: addresses = [.anyV4]
        case .pair(let local, let remote): (addresses, options.sourceAddress) = ([remote], local)
        case .host: (addresses, named) = ([], FlagsQuery(target: target, options: options))
        }
        return Self(OrderQuery(addresses, of: named, options, isInterleaved: interleaved, policy))
    }

    /// Addresses in the order in which a program tries them: RFC 6724, section 6.
    ///
    /// ```swift
    /// for address in try await NetworkSource.kernel.value(of: .order(of: answers)) where address.isReachable {
    ///     print(address.address, address.sourceAddress?.description ?? "-", address.rule?.description ?? "-")
    /// }
    /// ```
    ///
    /// The kernel is asked about all addresses together, and selects their source addresses. Addresses that packets
    /// cannot leave for come last, and have no ``OrderedAddress/rank``. Addresses that no rule distinguishes keep the
    /// given order. It fails as a whole if a query about one of the addresses cannot be answered. The policy of the
    /// host is read with each evaluation, and a change of it alone is not noticed.
    ///
    /// - Parameters:
    ///   - addresses: The addresses. Those of families that the options exclude are left out.
    ///   - options: The socket that the program connects.
    ///   - interleaved: Whether the families alternate among the addresses that can be reached, beginning with that of
    ///     the first: RFC 8305, section 4.
    ///   - policy: The labels, precedences and scopes; `nil` for those of `/etc/gai.conf`, and for the standard ones
    ///     in a recorded or simulated network.
    /// - Returns: The query.
    public static func order(
        of addresses: some Collection<IPAddress>,
        options: ReachabilityOptions = ReachabilityOptions(),
        interleaved: Bool = false,
        policy: AddressPolicy? = nil
    ) -> Self {
        Self(OrderQuery(Array(addresses), options, isInterleaved: interleaved, policy))
    }
}
